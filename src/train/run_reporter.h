// What a run tells while it goes: a live line on a terminal or one line per interval elsewhere,
// metrics.jsonl, and TensorBoard event files. Values are those of the steps since the last report.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/progress.h"
#include "train/event_writer.h"
#include "train/metrics_log.h"

namespace headwater {

// What one optimizer step gave.
struct StepReport {
  struct Loss {
    std::string_view name;   // in the files
    std::string_view label;  // in the live line; empty: not there
    double value = 0;
  };
  std::vector<Loss> losses;
  double grad_norm = 0;  // before clipping
  double learning_rate = 0;
  int64_t tokens = 0;  // real ones
  double waited = 0;   // seconds for data since the run began
};

class RunReporter {
 public:
  // Files in `directory`; a resumed run continues them at `resume_step`. `verb` stands before the
  // live line.
  static Result<std::unique_ptr<RunReporter>> open(FileSystem& fs, const std::string& directory,
                                                   std::string verb, int64_t first_step,
                                                   int64_t final_step,
                                                   std::optional<int64_t> resume_step);

  void step(int64_t done, const StepReport& step);
  // Writes the means of the steps since the last call, with their metrics, and starts anew.
  Result<> report(const MetricValues& metrics);
  // Metrics of an evaluation, or of baselines, after `step` steps.
  Result<> report_split(int64_t step, std::string_view split, const MetricValues& values);
  // A line of its own between the live ones.
  void say(std::string_view line);
  void warn(std::string_view line);
  Result<> close();

 private:
  using Clock = std::chrono::steady_clock;
  RunReporter(std::string verb, int64_t first_step, int64_t final_step);
  std::string short_line() const;  // losses and speed of the last step
  MetricValues interval_values() const;

  int64_t first_step_, final_step_, done_;
  Progress progress_;
  std::optional<MetricsLog> log_;
  std::optional<EventWriter> events_;
  Clock::time_point run_start_, interval_start_;
  std::vector<std::pair<std::string_view, WeightedMean>> losses_;  // by name
  WeightedMean grad_norm_;
  StepReport last_;
  double waited_before_ = 0;
  int64_t tokens_ = 0;
};

// "masked_lm_loss 6.712  disc_loss 0.4021 ...", for lines a person reads.
std::string metrics_line(const MetricValues& values);

}  // namespace headwater
