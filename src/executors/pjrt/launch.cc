#include "executors/pjrt/launch.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace headwater::pjrt {
namespace {

// A launcher's variables. The first one decides whether it launched us.
struct Launcher {
  std::string_view name, process, processes;
  std::string_view hosts;  // a list, process 0 first, that gives `processes` where that is not set
  std::string_view coordinator, port;
};

constexpr std::array kLaunchers = {
    Launcher{"headwater", "HEADWATER_RANK", "HEADWATER_SIZE", "", "HEADWATER_COORDINATOR", ""},
    Launcher{"tpu", "TPU_WORKER_ID", "", "TPU_PROCESS_ADDRESSES", "", ""},
    Launcher{"tpu", "TPU_WORKER_ID", "", "TPU_WORKER_HOSTNAMES", "", ""},
    Launcher{"slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_JOB_NODELIST", "", ""},
    Launcher{"slurm", "SLURM_PROCID", "SLURM_NPROCS", "SLURM_JOB_NODELIST", "", ""},
    Launcher{"openmpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "", "", ""},
    Launcher{"mpich", "PMI_RANK", "PMI_SIZE", "", "", ""},
    Launcher{"torchrun", "RANK", "WORLD_SIZE", "", "MASTER_ADDR", "MASTER_PORT"},
};

Result<int64_t> whole_number(std::string_view name, const std::string& text) {
  int64_t value = -1;
  const char* const end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, value);
  if (code == std::errc() && stop == end && value >= 0) return value;
  return fail(Code::kInvalidArgument, "{} is '{}': it must be a whole number", name, text);
}

// "tpu-0,tpu-1" -> "tpu-0"; Slurm's "node[03-07,12],other" -> "node03".
std::string first_host(std::string_view list) {
  const size_t comma = list.find(','), bracket = list.find('[');
  if (bracket == std::string_view::npos || comma < bracket)
    return std::string(list.substr(0, comma));
  const size_t end = list.find_first_of("-,]", bracket);
  if (end == std::string_view::npos) return {};
  return std::string(list.substr(0, bracket)).append(list.substr(bracket + 1, end - bracket - 1));
}

std::string value_of(const Environment& environment, std::string_view name) {
  return name.empty() ? "" : environment(std::string(name)).value_or("");
}

std::string coordinator_of(const Launcher& launcher, const Environment& environment) {
  std::string host = value_of(environment, launcher.coordinator);
  if (host.empty()) host = first_host(value_of(environment, launcher.hosts));
  const std::string port = value_of(environment, launcher.port);
  return host.empty() || port.empty() ? host : host + ":" + port;
}

Result<Launch> read(const Launcher& launcher, const Environment& environment) {
  Launch launch{.launcher = std::string(launcher.name)};
  HW_ASSIGN_OR_RETURN(launch.process,
                      whole_number(launcher.process, value_of(environment, launcher.process)));
  if (launcher.processes.empty()) {
    const std::string hosts = value_of(environment, launcher.hosts);
    launch.processes = std::ranges::count(hosts, ',') + 1;
  } else {
    HW_ASSIGN_OR_RETURN(launch.processes, whole_number(launcher.processes,
                                                       value_of(environment, launcher.processes)));
  }
  if (launch.process >= launch.processes) {
    return fail(Code::kInvalidArgument,
                "{} says that this is process {} of {}: processes are counted from 0",
                launcher.process, launch.process, launch.processes);
  }
  launch.coordinator = coordinator_of(launcher, environment);
  return launch;
}

bool is_complete(const Launcher& launcher, const Environment& environment) {
  const std::string_view size = launcher.processes.empty() ? launcher.hosts : launcher.processes;
  return environment(std::string(launcher.process)).has_value() &&
         environment(std::string(size)).has_value();
}

}  // namespace

Result<Launch> find_launch(const Environment& environment) {
  if (environment("HEADWATER_RANK").has_value() != environment("HEADWATER_SIZE").has_value()) {
    return fail(Code::kInvalidArgument, "HEADWATER_RANK and HEADWATER_SIZE go together");
  }
  for (const Launcher& launcher : kLaunchers) {
    if (is_complete(launcher, environment)) return read(launcher, environment);
  }
  return Launch{};
}

}  // namespace headwater::pjrt
