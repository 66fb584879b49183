// The loop of a training run: steps, reports, evaluations and checkpoints at their intervals, and
// an end: by the number of steps, the end of the data, a signal, or because nothing improves any
// more. There is one loop; pretrain_run.h and train_run.h are what is trained by it.
//
// Not here: models, data, files.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "train/run_reporter.h"

namespace headwater {

struct LoopOptions {
  int64_t first_step = 0, final_step = 0;  // steps [first_step, final_step) are to be done
  int64_t log_steps = 100, save_steps = 1000;
  int64_t eval_steps = 0;       // 0: no evaluation, at the end neither
  bool evaluates_first = true;  // before the first step
  std::string directory;        // of the run, for messages
};

struct LoopParts {
  // One optimizer step, number `step` from 0; none when the data are over. A loss that is not
  // finite is its error.
  std::function<Result<std::optional<StepReport>>(int64_t step)> train;
  // The metrics of the steps since the last call.
  std::function<MetricValues()> take_metrics;
  // After `done` steps. Half an evaluation, when a signal stops it, is none and no error.
  std::function<Result<>(int64_t done)> evaluate;
  // Why the run should end after the last evaluation; none: it should not. May be empty.
  std::function<std::optional<std::string>()> enough;
  std::function<Result<>(int64_t done)> save;  // a checkpoint
};

// Returns the exit code: 0, or 128 + n when signal n stopped it. In every case the last step that
// was done is saved.
Result<int> run_train_loop(const LoopOptions& options, const LoopParts& parts,
                           RunReporter& reporter);

}  // namespace headwater
