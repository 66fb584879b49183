// `devices`: what there is to run on.
#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/threads.h"
#include "cli/table.h"
#include "cli/verb.h"
#include "executors/pjrt/device_report.h"

namespace headwater {
namespace {

using pjrt::PluginReport;

struct DevicesOptions {
  bool json = false;
  double timeout = 120;

  void describe(Fields& f) {
    f("timeout", timeout, "seconds to wait for a plugin").positive();
    f("json", json, "print one JSON object");
  }
};

int64_t machine_memory() { return int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGE_SIZE); }

std::string name_of(const PluginReport& report) {
  const pjrt::FoundPlugin& plugin = report.plugin;
  return plugin.wheel.empty() ? plugin.path : plugin.wheel + " " + plugin.version;
}

// The first plugin of a platform is what its name opens; the others need their path.
std::string device_of(const PluginReport& report, const pjrt::PluginSearch& search) {
  const pjrt::FoundPlugin& plugin = report.plugin;
  if (search.first(plugin.platform)->path != plugin.path) return "pjrt:" + plugin.path;
  return plugin.platform == "cpu" ? "pjrt:cpu" : plugin.platform;
}

std::string memory_text(const PluginReport& report) {
  const auto& memory = report.devices[0].memory_bytes;
  return memory ? byte_text(*memory) + " each" : "";
}

std::string device_count(const PluginReport& report) {
  const size_t count = report.usable() ? report.devices.size() : 0;
  return count == 0 ? "none" : count == 1 ? "1 device" : fmt::format("{} devices", count);
}

Json report_json(const PluginReport& report, const std::string& device) {
  Json json = {{"device", device},
               {"path", report.plugin.path},
               {"wheel", report.plugin.wheel},
               {"version", report.plugin.version},
               {"found_by", report.plugin.origin},
               {"pjrt", report.api_version},
               {"stablehlo", report.stablehlo_version},
               {"platform", report.platform},
               {"platform_version", report.platform_version},
               {"devices", Json::array()},
               {"problem", report.problem}};
  for (const PluginReport::Device& entry : report.devices) {
    json["devices"].push_back(
        {{"kind", entry.kind},
         {"memory_bytes", entry.memory_bytes ? Json(*entry.memory_bytes) : Json()}});
  }
  return json;
}

Result<int> run_devices(const DevicesOptions& options) {
  const auto search = pjrt::find_plugins(local_files(), pjrt::process_environment());
  Json json = {{"devices", Json::array({{{"device", "cpu"},
                                         {"threads", num_threads()},
                                         {"memory_bytes", machine_memory()}}})}};
  TextTable table("lrllll");
  table.add({"cpu", fmt::format("{} threads", num_threads()), byte_text(machine_memory()),
             "native executor", "", ""});
  std::string problems;
  for (const pjrt::FoundPlugin& plugin : search.found) {
    const PluginReport report = pjrt::ask_plugin(plugin, /*run_program=*/false, options.timeout);
    const std::string device = device_of(report, search);
    json["devices"].push_back(report_json(report, device));
    const bool usable = report.usable();
    table.add({device, device_count(report), usable ? memory_text(report) : "", name_of(report),
               "PJRT " + report.api_version, "StableHLO " + report.stablehlo_version});
    if (!usable) problems += fmt::format("{}: {}\n", device, report.problem);
  }
  const std::string text = options.json ? dump_json(json) + "\n" : table.text() + problems;
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}

}  // namespace

Verb make_devices_verb() {
  return make_verb<DevicesOptions>(
      {.name = "devices",
       .summary = "list what there is to run on",
       .description =
           "The native executor, and every XLA plugin that is found with its version, the versions "
           "of its interface (PJRT) and of its programs (StableHLO), its devices and their memory. "
           "The first column is what --device takes.\n\n"
           "Plugins are looked for in $HEADWATER_PJRT_PLUGIN_CPU, _TPU and _CUDA (a file), in "
           "$HEADWATER_PLUGINS (a folder of unpacked wheels), and among the Python packages of "
           "$VIRTUAL_ENV, $CONDA_PREFIX, the python3 on $PATH and the user's own. Each is asked in "
           "a process of its own.",
       .examples = {{"headwater devices", "a line a device"},
                    {"headwater devices --json", "the same for programs"}}},
      run_devices);
}

}  // namespace headwater
