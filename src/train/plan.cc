#include "train/plan.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/digest.h"
#include "base/log.h"
#include "base/progress.h"
#include "executors/pjrt/aot.h"
#include "executors/pjrt/plugin_search.h"
#include "executors/pjrt/stablehlo_writer.h"

namespace headwater {
namespace {

constexpr int kCacheVersion = 1;

PlanTrial trial_of(const pjrt::AotFigures& figures) {
  const pjrt::MemoryStats& memory = figures.memory;
  PlanTrial trial;
  trial.fits = true;
  trial.peak_bytes = memory.peak > 0 ? memory.peak : memory.total();
  trial.argument_bytes = memory.arguments;
  trial.seconds = figures.seconds;
  trial.flops = figures.flops;
  return trial;
}

Result<PlanTarget> tpu_target(FileSystem& fs, const std::string& name) {
  HW_ASSIGN_OR_RETURN(const pjrt::TpuType type, pjrt::find_tpu_type(name));
  HW_ASSIGN_OR_RETURN(const pjrt::FoundPlugin found,
                      pjrt::find_plugin(fs, pjrt::process_environment(), "tpu"));
  HW_ASSIGN_OR_RETURN(const pjrt::Plugin* const plugin,
                      pjrt::Plugin::open(found.path, pjrt::PluginUse::kAheadOfTime));
  HW_ASSIGN_OR_RETURN(pjrt::Topology made, pjrt::Topology::create(*plugin, type));
  const auto topology = std::make_shared<pjrt::Topology>(std::move(made));
  PlanTarget target{.name = type.cloud_name,
                    .num_devices = type.num_devices,
                    .memory_bytes = type.memory_bytes,
                    .compiler = fmt::format("libtpu {} {}", found.version, plugin->api_version())};
  target.compile = [topology,
                    replicas = type.num_devices](const std::string& text) -> Result<PlanTrial> {
    HW_ASSIGN_OR_RETURN(const pjrt::Executable program,
                        topology->compile(text, {.num_replicas = replicas}));
    HW_ASSIGN_OR_RETURN(const pjrt::AotFigures figures, pjrt::aot_figures(program));
    return trial_of(figures);
  };
  return target;
}

// A device of this machine: "cpu" or "cuda".
Result<PlanTarget> local_target(FileSystem& fs, const std::string& name) {
  const std::string device = name == "cpu" ? "pjrt:cpu" : name;
  HW_ASSIGN_OR_RETURN(const pjrt::FoundPlugin found,
                      pjrt::find_plugin(fs, pjrt::process_environment(), device));
  HW_ASSIGN_OR_RETURN(const pjrt::Plugin* const plugin, pjrt::Plugin::open(found.path));
  HW_ASSIGN_OR_RETURN(pjrt::Client made, pjrt::Client::create(*plugin, 1));
  const auto client = std::make_shared<pjrt::Client>(std::move(made));
  PlanTarget target{.name = name,
                    .memory_bytes = client->devices()[0].memory_limit.value_or(0),
                    .compiler = fmt::format("{} {} {}", found.path, client->platform_version(),
                                            plugin->api_version())};
  target.compile = [client](const std::string& text) -> Result<PlanTrial> {
    HW_ASSIGN_OR_RETURN(const pjrt::LoadedExecutable program,
                        client->compile(text, client->options(1)));
    HW_ASSIGN_OR_RETURN(const pjrt::AotFigures figures, pjrt::aot_figures(program.executable()));
    return trial_of(figures);
  };
  return target;
}

// Peak memory grows by a row as it did between two trials; from one alone, as if all but the
// arguments grew.
double bytes_per_row(const PlanTrial& trial, const std::optional<PlanTrial>& smaller) {
  if (smaller && smaller->rows < trial.rows) {
    return static_cast<double>(trial.peak_bytes - smaller->peak_bytes) /
           static_cast<double>(trial.rows - smaller->rows);
  }
  return static_cast<double>(trial.peak_bytes - trial.argument_bytes) /
         static_cast<double>(trial.rows);
}

// The next number of rows to try between what fits and what does not.
int64_t next_rows(const std::optional<PlanTrial>& fits, const std::optional<PlanTrial>& smaller,
                  std::optional<int64_t> too_many, int64_t memory_bytes) {
  if (!fits) return std::max<int64_t>(1, *too_many / 2);
  int64_t rows = 2 * fits->rows;
  const double slope = bytes_per_row(*fits, smaller);
  if (slope > 0) {
    const double room = static_cast<double>(memory_bytes - fits->peak_bytes);
    rows = fits->rows +
           static_cast<int64_t>(std::min(room / slope, 15.0 * static_cast<double>(fits->rows)));
  }
  if (too_many) rows = std::min(rows, (fits->rows + *too_many) / 2);
  return std::max(rows, fits->rows + 1);
}

bool is_close(const PlanTrial& fits, std::optional<int64_t> too_many) {
  return too_many && *too_many - fits.rows <= std::max<int64_t>(1, fits.rows / 16);
}

// Public figures of ELECTRA pre-training on TPUs. KoELECTRA's README: base v3, 1.5M steps of 256 x
// 512 tokens in 14 days on a v3-8; small v3, 800k steps of 512 x 512 in 7 days.
const std::array kMeasured = {
    MeasuredRate{"v3", "koelectra-base-v3", 162500, 8,
                 "KoELECTRA README: base v3, 1.5M steps in 14 days on a v3-8"},
    MeasuredRate{"v3", "koelectra-small-v3", 347000, 8,
                 "KoELECTRA README: small v3, 800k steps in 7 days on a v3-8"}};

Result<double> flops_per_token(const PlannedStep& step) {
  constexpr int64_t kRows = 4;
  HW_ASSIGN_OR_RETURN(const double flops, step.flops(kRows));
  return flops / static_cast<double>(kRows * step.seq_length);
}

Result<PlannedStep> preset_step(FileSystem& fs, const std::string& preset) {
  PretrainOptions options;
  Fields fields;
  options.describe(fields);
  options.preset = preset;
  HW_RETURN_IF_ERROR(options.resolve(fields));
  return plan_electra(fs, options);
}

}  // namespace

Json PlanTrial::to_json() const {
  Json json = {{"rows", rows},
               {"fits", fits},
               {"peak_bytes", peak_bytes},
               {"argument_bytes", argument_bytes},
               {"compile_seconds", compile_seconds}};
  if (seconds) json["seconds"] = *seconds;
  if (flops) json["flops"] = *flops;
  return json;
}

std::optional<PlanTrial> PlanTrial::from_json(const Json& json) {
  try {
    PlanTrial trial{.rows = json.at("rows").get<int64_t>(),
                    .fits = json.at("fits").get<bool>(),
                    .peak_bytes = json.at("peak_bytes").get<int64_t>(),
                    .argument_bytes = json.at("argument_bytes").get<int64_t>(),
                    .compile_seconds = json.at("compile_seconds").get<double>()};
    if (json.contains("seconds")) trial.seconds = json.at("seconds").get<double>();
    if (json.contains("flops")) trial.flops = json.at("flops").get<double>();
    trial.cached = true;
    if (trial.peak_bytes < 0 || trial.argument_bytes < 0) return std::nullopt;
    return trial;
  } catch (const nlohmann::detail::exception&) {
    return std::nullopt;
  }
}

Result<PlanTarget> find_plan_target(FileSystem& fs, const std::string& name) {
  return name == "cpu" || name == "cuda" ? local_target(fs, name) : tpu_target(fs, name);
}

Result<std::string> Planner::program_text(int64_t rows) const {
  Graph graph;
  HW_RETURN_IF_ERROR(step_.build(rows, target_.num_devices, graph));
  try {
    return stablehlo_text(graph, {.num_replicas = target_.num_devices, .mixed_bf16 = mixed_bf16_});
  } catch (const GraphError& e) {
    return fail_hint(Code::kInvalidArgument, "use a smaller batch or sequence length",
                     "{} rows a device make no program: {}", rows, e.what());
  }
}

Result<PlanTrial> Planner::compile(int64_t rows) {
  HW_ASSIGN_OR_RETURN(const std::string text, program_text(rows));
  const std::string key = sha256_hex(
      fmt::format("{}\n{}\n{}\n{}", kCacheVersion, target_.name, target_.compiler, text));
  const std::string file =
      cache_folder_.empty() ? "" : join_path(cache_folder_, key.substr(0, 32) + ".json");
  if (!file.empty() && fs_.exists(file)) {
    const auto kept = read_file(fs_, file, int64_t{1} << 20);
    const auto json = kept ? parse_json(*kept, file) : Result<Json>(Json());
    const auto trial = json ? PlanTrial::from_json(*json) : std::nullopt;
    if (trial && trial->rows == rows) return *trial;
  }
  log_info("{}: compiling the step for {} rows a device", target_.name, rows);
  const auto start = std::chrono::steady_clock::now();
  auto compiled = target_.compile(text);
  if (!compiled && compiled.error().code != Code::kResourceExhausted)
    return in_context(compiled.error(), target_.name);
  PlanTrial trial = compiled ? *compiled : PlanTrial{};
  trial.rows = rows;
  trial.compile_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (target_.memory_bytes > 0 && trial.peak_bytes > target_.memory_bytes) trial.fits = false;
  log_info("{}: {} rows {}, after {}", target_.name, rows, trial.fits ? "fit" : "do not fit",
           Progress::duration(trial.compile_seconds));
  if (!file.empty()) {
    auto kept = fs_.make_directories(cache_folder_);
    if (kept) kept = write_file_atomic(fs_, file, dump_json(trial.to_json()) + "\n");
    if (!kept) log_warning("{}: {}", file, kept.error().to_string());
  }
  return trial;
}

Result<Planner::Bounds> Planner::search(const PlanTrial& first) {
  Bounds bounds;
  std::optional<PlanTrial> smaller;
  const auto take = [&](const PlanTrial& trial) {
    if (!trial.fits) {
      bounds.too_many = trial.rows;
      return;
    }
    if (bounds.fits) smaller = bounds.fits;
    bounds.fits = trial;
  };
  take(first);
  for (int trials = 1; trials < kMostTrials; ++trials) {
    if (bounds.fits && is_close(*bounds.fits, bounds.too_many)) break;
    if (!bounds.fits && *bounds.too_many == 1) break;
    if (target_.memory_bytes == 0) break;  // anything fits
    const int64_t rows = next_rows(bounds.fits, smaller, bounds.too_many, target_.memory_bytes);
    HW_ASSIGN_OR_RETURN(const PlanTrial trial, compile(rows));
    take(trial);
  }
  return bounds;
}

Result<std::optional<RateEstimate>> rate_by_measurement(FileSystem& fs, const PlannedStep& step,
                                                        const PlanTarget& target) {
  HW_ASSIGN_OR_RETURN(const double own, flops_per_token(step));
  std::optional<RateEstimate> nearest;
  double least = 0;
  for (const MeasuredRate& measured : kMeasured) {
    if (!target.name.starts_with(measured.family + "-")) continue;
    HW_ASSIGN_OR_RETURN(const PlannedStep known, preset_step(fs, measured.preset));
    HW_ASSIGN_OR_RETURN(const double flops, flops_per_token(known));
    const double distance = std::fabs(std::log(flops / own));
    if (nearest && distance >= least) continue;
    least = distance;
    const double share =
        static_cast<double>(target.num_devices) / static_cast<double>(measured.num_devices);
    nearest = RateEstimate{measured.tokens_per_second * share * flops / own, measured};
  }
  return nearest;
}

}  // namespace headwater
