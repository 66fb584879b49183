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

// What a checkpoint's meta says: a number, not negative, 0 without it; a flag, false without it; a
// text, empty without it.
int64_t saved_number(const Json& saved_meta, std::string_view key);
bool saved_flag(const Json& saved_meta, std::string_view key);
std::string saved_text(const Json& saved_meta, std::string_view key);

// Lines for options that a resumed run has otherwise than the run that it continues.
std::vector<std::string> changed_options(const Json& saved_meta, const Fields& fields);

}  // namespace headwater
