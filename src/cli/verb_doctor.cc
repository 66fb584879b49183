// `doctor`: what works, what is missing, and the command that installs it.
#include <cstdio>

#include "base/threads.h"
#include "cli/verb.h"
#include "executors/pjrt/device_report.h"
#include "executors/pjrt/plugin.h"

namespace headwater {
namespace {

using pjrt::PluginReport;

struct DoctorOptions {
  std::optional<std::string> device;
  double timeout = 120;

  void describe(Fields& f) {
    f("device", device, "only this one: cpu, tpu, cuda, pjrt:cpu, pjrt:PATH");
    f("timeout", timeout, "seconds to wait for a plugin").positive();
  }
};

void say(std::string_view state, std::string_view device, std::string_view text,
         std::string_view advice = "") {
  fmt::print("{:<8} {:<9} {}\n", state, device, text);
  if (!advice.empty()) fmt::print("{:<18} {}\n", "", advice);
}

void say_report(const std::string& device, const PluginReport& report) {
  const pjrt::FoundPlugin& plugin = report.plugin;
  const std::string name =
      plugin.wheel.empty() ? plugin.path
                           : fmt::format("{} {} ({})", plugin.wheel, plugin.version, plugin.path);
  if (report.usable()) {
    say("ok", device,
        fmt::format("{}: {} x {}, a program ran", name, report.devices.size(),
                    report.devices[0].kind));
    return;
  }
  say("fails", device, fmt::format("{}: {}", name, report.problem), report.hint);
  if (plugin.platform != "tpu") return;
  if (const std::string lock = pjrt::tpu_lock_problem(); !lock.empty()) say("", "", lock);
  if (!pjrt::has_tpu_hardware()) {
    say("", "", "this machine has no TPU; libtpu still compiles for one, as planning does");
  }
}

// Says how a device is; the error of one that would not work.
Result<> examine(const std::string& device, const DoctorOptions& options) {
  if (device == "cpu") {
    say("ok", device, fmt::format("the native executor, {} threads", num_threads()));
    return {};
  }
  const auto plugin = pjrt::find_plugin(local_files(), pjrt::process_environment(), device);
  if (!plugin) {
    say("missing", device, plugin.error().message, plugin.error().hint);
    return tl::unexpected<Error>(plugin.error());
  }
  const PluginReport report = pjrt::ask_plugin(*plugin, /*run_program=*/true, options.timeout);
  say_report(device, report);
  if (report.usable()) return {};
  return fail(Code::kFailedPrecondition, "device {} would not work: {}", device, report.problem);
}

Result<int> run_doctor(const DoctorOptions& options) {
  if (options.device) {
    HW_RETURN_IF_ERROR(examine(*options.device, options));
    return 0;
  }
  for (const char* device : {"cpu", "pjrt:cpu", "tpu", "cuda"}) {
    static_cast<void>(examine(device, options));
  }
  fmt::print("\nNothing is needed beyond cpu; a plugin is installed where Python packages are.\n");
  return 0;
}

}  // namespace

Verb make_doctor_verb() {
  return make_verb<DoctorOptions>(
      {.name = "doctor",
       .summary = "say which devices work, and what installs those that do not",
       .description =
           "Looks for the plugin of every device, opens it in a process of its own, and compiles "
           "and runs a small program. What is missing is named with the command that installs it. "
           "Debian's python3 installs packages into virtual environments only: python3 -m venv "
           "ENV, then ENV/bin/pip, and ENV in $VIRTUAL_ENV, as its activate script sets.",
       .examples = {{"headwater doctor", "all devices"},
                    {"headwater doctor --device tpu && headwater pretrain --device tpu ...",
                     "before a run"}},
       .exit_notes = "3, 4  the --device asked for does not work, has no plugin"},
      run_doctor);
}

}  // namespace headwater
