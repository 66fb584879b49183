// What a pre-training step takes on this machine, by doing one: for plans.
#pragma once

#include "io/file.h"
#include "train/pretrain_options.h"

namespace headwater {

struct StepTrial {
  double seconds = 0;        // of a step of the options' batch
  int64_t memory_bytes = 0;  // of state and intermediate values
};

// Runs two steps of the pair on made-up tokens, with few rows, and scales to the whole batch.
Result<StepTrial> try_step(FileSystem& fs, const PretrainOptions& options);

}  // namespace headwater
