// What pre-training and evaluation read before they start, and how options become those of the
// parts.
#pragma once

#include <optional>

#include "batches/pretrain_pipeline.h"
#include "tokens/tokenizer.h"
#include "train/pretrain_options.h"
#include "train/trainer.h"

namespace headwater {

struct RunInputs {
  Vocabulary vocabulary;
  SpecialIds specials;
  ElectraConfigs configs;
  // How the records' texts were tokenised, as their manifest says; empty when there is none.
  std::optional<TokenizerOptions> tokenizer;

  // The vocabulary, and the manifest beside the records. Records of another vocabulary are an
  // error.
  static Result<RunInputs> open(FileSystem& fs, const PretrainOptions& options);
};

TrainerOptions trainer_options(const PretrainOptions& options, const ElectraConfigs& configs);
PipelineOptions pipeline_options(const PretrainOptions& options, const ElectraConfigs& configs);

// The step at which the run that saved a checkpoint began, before any resuming; 0 when it does not
// say.
int64_t saved_start_step(const Json& saved_meta);
// Whether that run began from weights without Adam moments.
bool saved_slots_missing(const Json& saved_meta);

// Lines for options that a resumed run has otherwise than the run that it continues.
std::vector<std::string> changed_options(const Json& saved_meta, const Fields& fields);

}  // namespace headwater
