// `headwater train`: a model by its architecture on any records. The ELECTRA pair, which trains two
// networks on masks that it draws itself, is pretrain_run.h; both are run by train_loop.h.
#pragma once

#include "train/train_options.h"

namespace headwater {

// Runs to the end, or until a signal asks it to stop. Returns the exit code.
Result<int> run_training(const TrainOptions& options, const Fields& fields);

}  // namespace headwater
