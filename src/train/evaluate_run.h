// Metrics of a checkpoint on records: the definitions of google-research/electra (train/metrics.h),
// dropout off.
#pragma once

#include <optional>
#include <string>

#include "base/described.h"
#include "executors/device_options.h"
#include "train/metrics.h"

namespace headwater {

struct EvaluateOptions {
  std::string checkpoint;  // a run's directory (its latest checkpoint), or a checkpoint
  std::string records;     // empty: the part of the run's own records that was held out
  std::string vocab_file;  // empty: vocab.txt of the run
  std::optional<int64_t> eval_batch_size, num_eval_steps, seed;
  int64_t threads = 0;
  DeviceOptions device;
  bool google_compatible = false;
  bool json = false;

  void describe(Fields& f);
};

struct EvaluateResult {
  std::string checkpoint;  // that was evaluated
  int64_t step = 0, examples = 0, batches = 0;
  MetricValues values;
};

Result<EvaluateResult> evaluate_checkpoint(const EvaluateOptions& options);

}  // namespace headwater
