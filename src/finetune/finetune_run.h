// A fine-tuning run from options to an ordinary Hugging Face directory: data, head, training by
// train_loop.h, choice of the best model, its judgement on the test split.
//
// docs/formats/finetune-run.md says what the run's folder holds.
#pragma once

#include "finetune/finetune_options.h"

namespace headwater {

// Runs to the end, or until a signal asks it to stop. Returns the exit code. `fields` describe
// `options`.
Result<int> run_finetuning(const FinetuneOptions& options, const Fields& fields);

}  // namespace headwater
