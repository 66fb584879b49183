// Where plugins come from: a path that the user gives, environment variables, installed Python
// wheels. No Python is started: wheels are recognised by the files in them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "io/file.h"

namespace headwater::pjrt {

// A wheel that has a plugin in it, the better one of a platform first.
struct PluginWheel {
  const char* platform;  // "cpu", "tpu", "cuda"
  const char* name;      // as pip knows it
  const char* file;      // below site-packages
};
const std::vector<PluginWheel>& plugin_wheels();

struct FoundPlugin {
  std::string platform;  // empty: not known before it is opened
  std::string path;
  std::string wheel, version;  // empty where no wheel says them
  std::string origin;          // "HEADWATER_PLUGINS", "VIRTUAL_ENV", "python3", "user"
};

struct PluginSearch {
  std::vector<FoundPlugin> found;    // in the order of preference
  std::vector<std::string> folders;  // that were looked into

  const FoundPlugin* first(std::string_view platform) const;
};

using Environment = std::function<std::optional<std::string>(const std::string& name)>;
Environment process_environment();

// $HEADWATER_PJRT_PLUGIN_CPU, _TPU and _CUDA name a file; $HEADWATER_PLUGINS a folder of unpacked
// wheels; then come the Python environments: $VIRTUAL_ENV, $CONDA_PREFIX, those of the python3
// on $PATH, the user's own.
PluginSearch find_plugins(FileSystem& fs, const Environment& environment);

// The plugin of a device: "tpu", "cuda", "pjrt:cpu" (the native executor is "cpu"), "pjrt:PATH".
// kNotFound says where it was looked for, and what installs it.
Result<FoundPlugin> find_plugin(FileSystem& fs, const Environment& environment,
                                std::string_view device);
// "python3 -m pip install libtpu"
std::string install_command(std::string_view platform);

}  // namespace headwater::pjrt
