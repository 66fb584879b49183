#include "executors/pjrt/device_report.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "base/json.h"
#include "executors/pjrt/client.h"

namespace headwater::pjrt {
namespace {

constexpr std::string_view kProgram =
    "func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
    "  %0 = stablehlo.add %x, %x : tensor<2xf32>\n"
    "  return %0 : tensor<2xf32>\n}\n";

Result<> run_small_program(const Client& client) {
  HW_ASSIGN_OR_RETURN(const LoadedExecutable program, client.compile(kProgram, client.options(1)));
  HW_ASSIGN_OR_RETURN(const DeviceBuffer x, client.put(Tensor::f32({2}, std::vector<float>{1, 2})));
  HW_ASSIGN_OR_RETURN(LoadedExecutable::Run run, program.run({{x.get()}}));
  HW_RETURN_IF_ERROR(run.done.wait());
  HW_ASSIGN_OR_RETURN(const Tensor sum, run.outputs[0][0].to_host({DType::kF32, {2}}));
  if (sum.as<float>()[0] == 2 && sum.as<float>()[1] == 4) return {};
  return fail(Code::kInternal, "[1, 2] + [1, 2] gave [{}, {}]", sum.as<float>()[0],
              sum.as<float>()[1]);
}

// In the process that is asked.
Result<> fill(PluginReport& report, bool run_program) {
  HW_ASSIGN_OR_RETURN(const Plugin* const plugin, Plugin::open(report.plugin.path));
  report.api_version = plugin->api_version();
  report.stablehlo_version = plugin->attribute("stablehlo_current_version");
  HW_ASSIGN_OR_RETURN(const Client client, Client::create(*plugin, 1));
  report.platform = client.platform();
  report.platform_version = client.platform_version();
  for (const DeviceInfo& device : client.devices()) {
    report.devices.push_back({device.kind, device.memory_limit});
  }
  if (run_program) HW_RETURN_IF_ERROR(run_small_program(client));
  report.ran = run_program;
  return {};
}

std::string to_text(const PluginReport& report) {
  Json json = {{"api_version", report.api_version},
               {"stablehlo_version", report.stablehlo_version},
               {"platform", report.platform},
               {"platform_version", report.platform_version},
               {"ran", report.ran},
               {"problem", report.problem},
               {"hint", report.hint},
               {"devices", Json::array()}};
  for (const PluginReport::Device& device : report.devices) {
    json["devices"].push_back({device.kind, device.memory_bytes.value_or(-1)});
  }
  return dump_json(json);
}

Result<> from_text(std::string_view text, PluginReport& report) {
  HW_ASSIGN_OR_RETURN(const Json json, parse_json(text, "answer of the plugin's process"));
  report.api_version = json["api_version"];
  report.stablehlo_version = json["stablehlo_version"];
  report.platform = json["platform"];
  report.platform_version = json["platform_version"];
  report.ran = json["ran"];
  report.problem = json["problem"];
  report.hint = json["hint"];
  for (const Json& device : json["devices"]) {
    const auto bytes = device[1].get<int64_t>();
    report.devices.push_back(
        {device[0], bytes >= 0 ? std::optional<int64_t>(bytes) : std::nullopt});
  }
  return {};
}

[[noreturn]] void answer(PluginReport report, bool run_program, int out) {
  const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
  dup2(nowhere, STDIN_FILENO);
  dup2(nowhere, STDOUT_FILENO);
  dup2(nowhere, STDERR_FILENO);
  if (const auto filled = fill(report, run_program); !filled) {
    Error error = filled.error();
    std::erase(error.where, report.plugin.path);  // the reader knows of which plugin this is
    report.hint = std::exchange(error.hint, "");
    report.problem = error.to_string();
  }
  const std::string text = to_text(report);
  for (size_t sent = 0; sent < text.size();) {
    const ssize_t n = write(out, text.data() + sent, text.size() - sent);
    if (n <= 0) break;
    sent += static_cast<size_t>(n);
  }
  _exit(0);  // without the plugin's exit handlers
}

// All that comes before the deadline; false where the end did not.
bool read_until(int in, std::chrono::steady_clock::time_point deadline, std::string& text) {
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    pollfd entry{in, POLLIN, 0};
    if (left.count() <= 0 || poll(&entry, 1, static_cast<int>(left.count())) == 0) return false;
    char buffer[4096];
    const ssize_t n = read(in, buffer, sizeof buffer);
    if (n == 0) return true;
    if (n > 0) text.append(buffer, static_cast<size_t>(n));
    else if (errno != EINTR) return true;
  }
}

}  // namespace

PluginReport ask_plugin(const FoundPlugin& plugin, bool run_program, double timeout_seconds) {
  PluginReport report;
  report.plugin = plugin;
  int ends[2];
  const pid_t child = pipe2(ends, O_CLOEXEC) == 0 ? fork() : -1;
  if (child < 0) {
    report.problem = system_error(errno, "start", "a process for the plugin").to_string();
    return report;
  }
  if (child == 0) answer(report, run_program, ends[1]);
  close(ends[1]);
  std::string text;
  const auto timeout = std::chrono::milliseconds(static_cast<int64_t>(timeout_seconds * 1000));
  const bool ended = read_until(ends[0], std::chrono::steady_clock::now() + timeout, text);
  close(ends[0]);
  if (!ended) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!ended) {
    report.problem = fmt::format("the plugin gave no answer within {} s", timeout_seconds);
    report.hint =
        "a TPU plugin waits for the metadata server of Google's machines; elsewhere set "
        "TPU_SKIP_MDS_QUERY=1";
  } else if (WIFSIGNALED(status)) {
    report.problem = fmt::format("the plugin ends its process (signal {})", WTERMSIG(status));
    report.hint = "try another version of it";
  } else if (const auto read = from_text(text, report); !read) {
    report.problem = read.error().to_string();
  }
  return report;
}

std::string tpu_lock_problem(const std::string& lock_file) {
  struct stat info {};
  if (stat(lock_file.c_str(), &info) != 0) return "";
  // "1: FLOCK  ADVISORY  WRITE 4711 fd:00:2531452 0 EOF": kind, mode, access, process, file.
  const auto locks = read_file(local_files(), "/proc/locks");
  std::istringstream lines(locks ? *locks : "");
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string number, kind, mode, what, process, file;
    words >> number >> kind >> mode >> what >> process >> file;
    if (!file.ends_with(fmt::format(":{}", info.st_ino))) continue;
    if (process == fmt::format("{}", getpid())) return "";
    const auto name = read_file(local_files(), fmt::format("/proc/{}/comm", process));
    return fmt::format("process {} ({}) holds {}: the TPU is its own until it ends", process,
                       name ? name->substr(0, name->find('\n')) : "of another user", lock_file);
  }
  if (access(lock_file.c_str(), R_OK | W_OK) != 0) {
    return fmt::format("{} belongs to another user and was left behind: sudo rm {}", lock_file,
                       lock_file);
  }
  return "";  // left behind and in nobody's way
}

}  // namespace headwater::pjrt
