// A pre-training run from options to the last checkpoint: data, model, schedule, reports,
// evaluation, resuming.
//
// The run's directory holds run.json (options as resolved), vocab.txt, metrics.jsonl, TensorBoard
// event files and checkpoint-<step>/ directories.
#pragma once

#include "train/pretrain_options.h"

namespace headwater {

// Trains until the final step, or until SIGINT or SIGTERM comes: then a checkpoint is saved and the
// result is 128 + signal. `fields` describe `options`; they say where values came from. A loss that
// is not finite ends the run with an error that names step and records; the last checkpoint stands.
Result<int> run_pretraining(const PretrainOptions& options, const Fields& fields);

}  // namespace headwater
