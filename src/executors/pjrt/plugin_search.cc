#include "executors/pjrt/plugin_search.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace headwater::pjrt {
namespace {

std::string upper(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return result;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    if (end > 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

class Finder {
 public:
  Finder(FileSystem& fs, const Environment& environment) : fs_(fs), environment_(environment) {}

  PluginSearch search() {
    for (const char* platform : {"cpu", "tpu", "cuda"}) {
      const std::string variable = "HEADWATER_PJRT_PLUGIN_" + upper(platform);
      if (const auto path = environment_(variable); path && !path->empty()) {
        result_.found.push_back({platform, *path, "", "", variable});
      }
    }
    if (const auto folders = environment_("HEADWATER_PLUGINS")) {
      for (const std::string& folder : split(*folders, ':')) {
        look_into(folder, "HEADWATER_PLUGINS");
        for (const FileInfo& entry : entries(folder)) {
          if (entry.is_directory) look_into(entry.path, "HEADWATER_PLUGINS");
        }
      }
    }
    for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
      if (const auto prefix = environment_(variable)) look_into_prefix(*prefix, variable);
    }
    for (const std::string& folder : split(environment_("PATH").value_or(""), ':')) {
      if (fs_.exists(join_path(folder, "python3"))) {
        look_into_prefix(directory_name(folder), "python3");
      }
    }
    if (const auto home = environment_("HOME"))
      look_into_prefix(join_path(*home, ".local"), "user");
    return std::move(result_);
  }

 private:
  std::vector<FileInfo> entries(const std::string& folder) {
    auto list = fs_.list(folder);
    return list ? *std::move(list) : std::vector<FileInfo>();
  }

  // PREFIX/lib/python3*/{site,dist}-packages, and Debian's PREFIX/local.
  void look_into_prefix(const std::string& prefix, const std::string& origin) {
    for (const char* library : {"lib", "local/lib"}) {
      for (const FileInfo& entry : entries(join_path(prefix, library))) {
        if (!base_name(entry.path).starts_with("python3")) continue;
        look_into(join_path(entry.path, "site-packages"), origin);
        look_into(join_path(entry.path, "dist-packages"), origin);
      }
    }
  }

  void look_into(const std::string& folder, const std::string& origin) {
    const auto& seen = result_.folders;
    if (std::find(seen.begin(), seen.end(), folder) != seen.end()) return;
    if (!fs_.exists(folder)) return;
    result_.folders.push_back(folder);
    for (const PluginWheel& wheel : plugin_wheels()) {
      const std::string path = join_path(folder, wheel.file);
      if (!fs_.exists(path)) continue;
      result_.found.push_back(
          {wheel.platform, path, wheel.name, version_of(folder, wheel.name), origin});
    }
  }

  // NAME-VERSION.dist-info beside the wheel's files.
  std::string version_of(const std::string& folder, std::string name) {
    constexpr std::string_view kSuffix = ".dist-info";
    std::replace(name.begin(), name.end(), '-', '_');
    name += '-';
    for (const FileInfo& entry : entries(folder)) {
      const std::string file = base_name(entry.path);
      if (file.starts_with(name) && file.ends_with(kSuffix)) {
        return file.substr(name.size(), file.size() - name.size() - kSuffix.size());
      }
    }
    return "";
  }

  FileSystem& fs_;
  const Environment& environment_;
  PluginSearch result_;
};

}  // namespace

const std::vector<PluginWheel>& plugin_wheels() {
  static const std::vector<PluginWheel> wheels = {
      {"tpu", "libtpu", "libtpu/libtpu.so"},
      {"cuda", "jax-cuda13-pjrt", "jax_plugins/xla_cuda13/xla_cuda_plugin.so"},
      {"cuda", "jax-cuda12-pjrt", "jax_plugins/xla_cuda12/xla_cuda_plugin.so"},
      {"cpu", "lammps-jax-pjrt-cpu", "lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so"},
      {"cpu", "xla-cpu-pjrt", "xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so"},
  };
  return wheels;
}

const FoundPlugin* PluginSearch::first(std::string_view platform) const {
  const auto it = std::find_if(found.begin(), found.end(), [&](const FoundPlugin& plugin) {
    return plugin.platform == platform;
  });
  return it != found.end() ? &*it : nullptr;
}

Environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* const value = std::getenv(name.c_str());
    if (value == nullptr) return std::nullopt;
    return value;
  };
}

PluginSearch find_plugins(FileSystem& fs, const Environment& environment) {
  return Finder(fs, environment).search();
}

std::string install_command(std::string_view platform) {
  if (platform == "cuda") {
    return "python3 -m pip install 'jax-cuda13-plugin[with-cuda]'";
  }
  for (const PluginWheel& wheel : plugin_wheels()) {
    if (wheel.platform == platform) return fmt::format("python3 -m pip install {}", wheel.name);
  }
  return "";
}

Result<FoundPlugin> find_plugin(FileSystem& fs, const Environment& environment,
                                std::string_view device) {
  std::string_view platform = device;
  const bool named = platform.starts_with("pjrt:");
  if (named) platform.remove_prefix(5);
  const bool known = platform == "tpu" || platform == "cuda" || (named && platform == "cpu");
  if (!known) {
    if (!named || platform.empty()) {
      return fail_hint(Code::kInvalidArgument,
                       "devices are cpu, tpu, cuda, and pjrt:PATH for a plugin at a path",
                       "unknown device '{}'", device);
    }
    return FoundPlugin{"", std::string(platform), "", "", "path"};
  }
  const PluginSearch search = find_plugins(fs, environment);
  if (const FoundPlugin* const plugin = search.first(platform)) return *plugin;
  return fail_hint(Code::kNotFound,
                   fmt::format("install it with `{}`, or name its file with --device pjrt:PATH or "
                               "$HEADWATER_PJRT_PLUGIN_{}; `headwater doctor` tells more",
                               install_command(platform), upper(platform)),
                   "no XLA plugin for {}: looked into {}", platform,
                   search.folders.empty() ? "no folder, as no Python packages are installed"
                                          : fmt::format("{}", fmt::join(search.folders, ", ")));
}

}  // namespace headwater::pjrt
