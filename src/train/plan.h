// Whether a training step fits a device that need not be there, and what it would take: compiled by
// the compiler of the device itself (executors/pjrt/aot.h).
//
// Memory is the compiler's own account. Its time is an estimate that was never compared with
// hardware here; where a figure of a run on such devices has been published, the time that follows
// from it stands beside it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "train/planned_step.h"

namespace headwater {

// One compilation: so many rows on each device.
struct PlanTrial {
  int64_t rows = 0;
  bool fits = false;
  int64_t peak_bytes = 0;         // of a device; of one that does not fit 0, where it is not known
  int64_t argument_bytes = 0;     // of them state and feeds
  double compile_seconds = 0;     // of the machine that compiled it first
  std::optional<double> seconds;  // of a step, the compiler's estimate
  std::optional<double> flops;    // of a step on one device, as the compiler counts
  bool cached = false;

  Json to_json() const;
  static std::optional<PlanTrial> from_json(const Json& json);
};

// Where a step would run.
struct PlanTarget {
  std::string name;  // "v3-8", "cpu"
  int64_t num_devices = 1;
  int64_t memory_bytes = 0;  // that a program may use on one device; 0: not known
  std::string compiler;      // the plugin and its version: figures of another one do not count
  // Compiles StableHLO text. kResourceExhausted where it does not fit.
  std::function<Result<PlanTrial>(const std::string& text)> compile;
};

// A TPU by its Cloud name, compiled by libtpu without hardware; "cpu" or "cuda" as XLA's plugin for
// them has it.
Result<PlanTarget> find_plan_target(FileSystem& fs, const std::string& name);

class Planner {
 public:
  // Figures are kept in `cache_folder`; empty: nowhere.
  Planner(FileSystem& fs, PlannedStep step, PlanTarget target, bool mixed_bf16,
          std::string cache_folder)
      : fs_(fs),
        step_(std::move(step)),
        target_(std::move(target)),
        mixed_bf16_(mixed_bf16),
        cache_folder_(std::move(cache_folder)) {}

  const PlanTarget& target() const { return target_; }
  // Compiles the step for `rows` on each device, or takes what an earlier one gave.
  Result<PlanTrial> compile(int64_t rows);

  // The largest number of rows found to fit, beginning from a trial, and the smallest that did not:
  // they lie within a sixteenth of each other, where that many compilations suffice.
  struct Bounds {
    std::optional<PlanTrial> fits;
    std::optional<int64_t> too_many;  // rows
  };
  static constexpr int kMostTrials = 8;
  Result<Bounds> search(const PlanTrial& first);

 private:
  Result<std::string> program_text(int64_t rows) const;

  FileSystem& fs_;
  PlannedStep step_;
  PlanTarget target_;
  bool mixed_bf16_;
  std::string cache_folder_;
};

// A published speed of a run on such devices.
struct MeasuredRate {
  std::string family;  // "v3"
  std::string preset;  // of `headwater pretrain`: what was trained
  double tokens_per_second = 0;
  int64_t num_devices = 0;
  std::string source;
};
// The tokens a second of `step` on the target at the arithmetic per second of the published run
// that is nearest in size; none where nothing was published of such devices.
struct RateEstimate {
  double tokens_per_second = 0;
  MeasuredRate measured;
};
Result<std::optional<RateEstimate>> rate_by_measurement(FileSystem& fs, const PlannedStep& step,
                                                        const PlanTarget& target);

}  // namespace headwater
