// What a run tells while it goes: a live line on a terminal or one line per interval elsewhere,
// metrics.jsonl, and TensorBoard event files. Values are those of the steps since the last report.
#pragma once

#include <chrono>
#include <optional>

#include "base/progress.h"
#include "train/event_writer.h"
#include "train/metrics_log.h"
#include "train/trainer.h"

namespace headwater {

class RunReporter {
 public:
  // Files in `directory`; a resumed run continues them at `resume_step`.
  static Result<std::unique_ptr<RunReporter>> open(FileSystem& fs, const std::string& directory,
                                                   int64_t first_step, int64_t final_step,
                                                   std::optional<int64_t> resume_step);

  // One optimizer step is done: `tokens` real tokens, `waited` seconds for data since the run
  // began.
  void step(int64_t done, const StepResult& result, double learning_rate, int64_t tokens,
            double waited);
  // Writes the means of the steps since the last call, with the metrics, and starts anew.
  Result<> report(ElectraMetrics& metrics);
  // Metrics of an evaluation, or of baselines, after `step` steps.
  Result<> report_split(int64_t step, std::string_view split, const MetricValues& values);
  // A line of its own between the live ones.
  void say(std::string_view line);
  Result<> close();

 private:
  using Clock = std::chrono::steady_clock;
  RunReporter(int64_t first_step, int64_t final_step);
  std::string short_line() const;  // losses and speed of the last step
  MetricValues interval_values() const;

  int64_t first_step_, final_step_, done_;
  Progress progress_;
  std::optional<MetricsLog> log_;
  std::optional<EventWriter> events_;
  Clock::time_point run_start_, interval_start_;
  WeightedMean mlm_loss_, disc_loss_, total_loss_, grad_norm_;
  StepResult last_;
  double learning_rate_ = 0, waited_ = 0, waited_before_ = 0;
  int64_t tokens_ = 0;
  DiscriminatorHealth health_;
};

// "masked_lm_loss 6.712  disc_loss 0.4021 ...", for lines a person reads.
std::string metrics_line(const MetricValues& values);

}  // namespace headwater
