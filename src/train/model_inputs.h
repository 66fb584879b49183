// What `headwater train` reads before it starts: the model, its weights where there are any, the
// tokenizer, and what the records hold.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "batches/batch_pipeline.h"
#include "records/word_masking.h"
#include "checkpoints/model_weights.h"
#include "tokens/any_tokenizer.h"
#include "train/model_batches.h"
#include "train/train_options.h"

namespace headwater {

struct ModelSource {
  Model model;
  Objective objective = Objective::kClm;
  std::optional<ModelWeights> weights;  // none: fresh ones
  std::string origin;                   // for people: "GPT2LMHeadModel of models/gpt2"
  // The architecture in the file has no head for the objective: the one of its family that has it
  // is trained instead, with a fresh head.
  bool other_head = false;
  std::vector<std::string> notes;
};

// The model that the options name, with the objective's head.
Result<ModelSource> read_model_source(FileSystem& fs, const TrainOptions& options);

// The weights of `source` as a state that a trainer takes, and what may be fresh of it: only the
// head where it is another one. An error lists what does not fit.
Result<> check_model_fit(const ModelSource& source, const FitReport& fit);

struct ModelInputFiles {
  ModelSource source;
  std::optional<AnyTokenizer> tokenizer;
  std::string tokenizer_path;  // where it was found
  std::vector<FeatureSpec> features;
  std::unique_ptr<WordBounds> words;  // of whole-word masking

  static Result<ModelInputFiles> open(FileSystem& fs, const TrainOptions& options);
  // Rules for the batches of training, or of evaluation.
  Result<ModelBatchRules> batch_rules(const TrainOptions& options, bool evaluates) const;
  // The options with features, sizes and text encoding filled in. `this` must outlive pipelines.
  Result<BatchPipelineOptions> pipeline(const TrainOptions& options) const;

 private:
  Result<EncodeText> text_encoder() const;
};

// The files of a tokenizer beside a model, so that a run's folder and an export carry them on.
// `from` is a folder, or one of the files. Files that are there are replaced.
Result<> copy_tokenizer_files(FileSystem& fs, const std::string& from, const std::string& to);

}  // namespace headwater
