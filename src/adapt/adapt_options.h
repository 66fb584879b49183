// Options of `headwater adapt`: a model, text to continue its pre-training on, and a task on which
// base and adapted model are compared. Options of the fine-tuning runs are those of
// `headwater finetune`; of the pre-training those that matter stand here, all others come by
// --pretrain-options.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "finetune/finetune_options.h"
#include "report/comparison.h"
#include "train/pretrain_options.h"

namespace headwater {

struct AdaptOptions {
  std::string model, corpus_dir, control_corpus_dir, output_dir, title = "Adaptation";
  bool dry_run = false;
  // Pre-training.
  std::optional<int64_t> steps;  // none: three passes over the records, at least kFewestSteps
  std::optional<int64_t> pretrain_batch_size, pretrain_seq_length;
  std::optional<double> pretrain_learning_rate;
  std::string pretrain_options = "{}";  // JSON
  static constexpr int64_t kPasses = 3, kFewestSteps = 100;
  // Proof.
  int64_t seeds = 8, first_seed = 1;
  ComparisonOptions comparison;
  FinetuneOptions finetune;

  void describe(Fields& f);
  Result<> resolve(Fields& f);
};

// The continued pre-training of one side. Its fields point into its options: it stays where it is.
struct PretrainStage {
  PretrainOptions options;
  Fields fields;
};

// `examples`: of the records, which give the number of steps where none was asked for, and the
// share that is held out. `sizes`: train/start_sizes.h.
Result<std::unique_ptr<PretrainStage>> pretrain_stage(const AdaptOptions& options,
                                                      const Json& sizes, int64_t examples);

}  // namespace headwater
