// Where plugins are looked for, on files in memory.
#include "executors/pjrt/plugin_search.h"

#include <gtest/gtest.h>

#include <map>

#include "io/memory_files.h"

namespace headwater::pjrt {
namespace {

using Variables = std::map<std::string, std::string>;

Environment environment(Variables variables) {
  return [variables = std::move(variables)](const std::string& name) -> std::optional<std::string> {
    const auto it = variables.find(name);
    if (it == variables.end()) return std::nullopt;
    return it->second;
  };
}

std::vector<std::string> paths(const PluginSearch& search) {
  std::vector<std::string> all;
  for (const FoundPlugin& plugin : search.found) all.push_back(plugin.path);
  return all;
}

TEST(PluginSearch, FindsWheelsOfEveryPythonInOrder) {
  MemoryFileSystem fs;
  fs.put("/venv/lib/python3.11/site-packages/libtpu/libtpu.so", "");
  fs.put("/venv/lib/python3.11/site-packages/libtpu-0.0.52.dist-info/METADATA", "");
  fs.put("/usr/bin/python3", "");
  fs.put("/usr/local/lib/python3.11/dist-packages/jax_plugins/xla_cuda12/xla_cuda_plugin.so", "");
  fs.put("/usr/lib/python3/dist-packages/xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so", "");
  fs.put("/home/me/.local/lib/python3.11/site-packages/libtpu/libtpu.so", "");
  fs.put("/opt/bin/perl", "");
  fs.put("/opt/lib/python3.11/site-packages/libtpu/libtpu.so", "");  // of no python3
  const PluginSearch search = find_plugins(
      fs,
      environment({{"VIRTUAL_ENV", "/venv"}, {"HOME", "/home/me"}, {"PATH", "/opt/bin:/usr/bin"}}));
  EXPECT_EQ(paths(search),
            (std::vector<std::string>{
                "/venv/lib/python3.11/site-packages/libtpu/libtpu.so",
                "/usr/lib/python3/dist-packages/xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so",
                "/usr/local/lib/python3.11/dist-packages/jax_plugins/xla_cuda12/xla_cuda_plugin.so",
                "/home/me/.local/lib/python3.11/site-packages/libtpu/libtpu.so"}));
  EXPECT_EQ(search.found[0].wheel, "libtpu");
  EXPECT_EQ(search.found[0].version, "0.0.52");
  EXPECT_EQ(search.found[1].version, "");
  EXPECT_EQ(search.first("cpu")->platform, "cpu");
}

TEST(PluginSearch, VariablesOutrankWheels) {
  MemoryFileSystem fs;
  fs.put("/plugins/a/lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so", "");
  fs.put("/plugins/b/libtpu/libtpu.so", "");
  const Variables variables = {{"HEADWATER_PLUGINS", "/none:/plugins"},
                               {"HEADWATER_PJRT_PLUGIN_CPU", "/mine.so"}};
  EXPECT_EQ(paths(find_plugins(fs, environment(variables))),
            (std::vector<std::string>{"/mine.so",
                                      "/plugins/a/lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so",
                                      "/plugins/b/libtpu/libtpu.so"}));
  EXPECT_EQ(find_plugin(fs, environment(variables), "pjrt:cpu")->path, "/mine.so");
  EXPECT_EQ(find_plugin(fs, environment(variables), "tpu")->path, "/plugins/b/libtpu/libtpu.so");
  EXPECT_EQ(find_plugin(fs, environment(variables), "pjrt:/x/y.so")->path, "/x/y.so");
}

TEST(PluginSearch, ADeviceWithoutPluginSaysWhatInstallsIt) {
  MemoryFileSystem fs;
  fs.put("/venv/lib/python3.11/site-packages/numpy/a.so", "");
  const auto tpu = find_plugin(fs, environment({{"VIRTUAL_ENV", "/venv"}}), "tpu");
  ASSERT_FALSE(tpu);
  EXPECT_EQ(tpu.error().code, Code::kNotFound);
  const std::string text = tpu.error().to_string();
  for (const char* part : {"no XLA plugin for tpu", "/venv/lib/python3.11/site-packages",
                           "pip install libtpu", "HEADWATER_PJRT_PLUGIN_TPU", "doctor"}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
  for (const char* device : {"gpu", "", "pjrt:", "abacus"}) {
    const auto unknown = find_plugin(fs, environment({}), device);
    ASSERT_FALSE(unknown) << device;
    EXPECT_EQ(unknown.error().code, Code::kInvalidArgument);
  }
}

}  // namespace
}  // namespace headwater::pjrt
