// XLA plugins for the tests: those that ./test --with-xla fetched ($HEADWATER_PLUGINS), and
// programs given as text.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "executors/pjrt/client.h"
#include "executors/pjrt/plugin_search.h"
#include "ops/run_graph.h"

namespace headwater::pjrt {

// Looks at $HEADWATER_PLUGINS only: what else is installed on a machine is no part of a test.
inline PluginSearch test_plugins() {
  return find_plugins(local_files(), [](const std::string& name) -> std::optional<std::string> {
    const char* const value = std::getenv(name.c_str());
    if (value == nullptr || !name.starts_with("HEADWATER_")) return std::nullopt;
    return value;
  });
}

// The file of a wheel's plugin, or empty: then the test skips.
inline std::string wheel_path(std::string_view wheel) {
  for (const FoundPlugin& plugin : test_plugins().found) {
    if (plugin.wheel == wheel) return plugin.path;
  }
  return "";
}

// In a test: skips it where the plugin is not there.
#define HW_SKIP_WITHOUT_WHEEL(wheel)                \
  if (::headwater::pjrt::wheel_path(wheel).empty()) \
  GTEST_SKIP() << "the wheel " << (wheel)           \
               << " is not in $HEADWATER_PLUGINS; ./test --with-xla fetches it"

// Runs StableHLO text on the first replicas of a client: arguments [replica][argument], outputs
// [replica][output].
inline std::vector<std::vector<Tensor>> run_text(
    const Client& client, std::string_view text,
    const std::vector<std::vector<Tensor>>& arguments) {
  const auto num_replicas = static_cast<int64_t>(arguments.size());
  const LoadedExecutable program =
      value_or_throw(client.compile(text, client.options(num_replicas)));
  std::vector<std::vector<DeviceBuffer>> buffers(arguments.size());
  std::vector<std::vector<abi::Buffer*>> lists(arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    for (const Tensor& tensor : arguments[i]) {
      buffers[i].push_back(value_or_throw(client.put(tensor, i)));
      lists[i].push_back(buffers[i].back().get());
    }
  }
  LoadedExecutable::Run run = value_or_throw(program.run(lists));
  ok_or_throw(run.done.wait());
  std::vector<std::vector<Tensor>> outputs(arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    for (size_t k = 0; k < program.outputs().size(); ++k) {
      outputs[i].push_back(value_or_throw(run.outputs[i][k].to_host(program.outputs()[k])));
    }
  }
  return outputs;
}

// A client of a wheel's plugin.
inline Client open_client(std::string_view wheel, int64_t num_devices = 1) {
  const Plugin* const plugin = value_or_throw(Plugin::open(wheel_path(wheel)));
  return value_or_throw(Client::create(*plugin, num_devices));
}

// While it lives, the executor keeps compiled programs in a folder that goes away with it.
class OwnProgramCache {
 public:
  OwnProgramCache() {
    if (mkdtemp(folder_.data()) == nullptr) throw std::runtime_error("no temporary folder");
    setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
  }
  ~OwnProgramCache() { std::filesystem::remove_all(folder_); }
  OwnProgramCache(const OwnProgramCache&) = delete;
  OwnProgramCache& operator=(const OwnProgramCache&) = delete;

 private:
  std::string folder_ = testing::TempDir() + "xla-cache-XXXXXX";
};

// The plugins that the tests of programs run on, each in a process of its own under ctest.
constexpr const char* kCpuWheels[] = {"xla-cpu-pjrt", "lammps-jax-pjrt-cpu"};

}  // namespace headwater::pjrt
