// What there is to run on, for `headwater devices` and `headwater doctor`: plugins and their
// devices.
//
// Every plugin is asked in a process of its own: one that ends its process, waits without end or
// writes to standard error takes nothing with it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "executors/pjrt/plugin_search.h"

namespace headwater::pjrt {

struct PluginReport {
  struct Device {
    std::string kind;
    std::optional<int64_t> memory_bytes;  // where the plugin says
  };
  FoundPlugin plugin;
  std::string api_version, stablehlo_version;  // empty: the plugin could not be loaded
  std::string platform, platform_version;      // empty: no device could be opened
  std::vector<Device> devices;
  bool ran = false;           // a small program gave what it should
  std::string problem, hint;  // empty: none

  bool usable() const { return problem.empty() && !devices.empty(); }
};

// `run_program`: compiles and runs a small program too.
PluginReport ask_plugin(const FoundPlugin& plugin, bool run_program, double timeout_seconds = 120);

// Why libtpu may refuse this process: who holds its lock file, or whose it is. Empty: no reason.
std::string tpu_lock_problem(const std::string& lock_file = "/tmp/libtpu_lockfile");

}  // namespace headwater::pjrt
