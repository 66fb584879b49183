// What `headwater plan` plans for: the training step of an ELECTRA pair or of a model by its
// architecture, and what it takes whatever it runs on. Compiling it is plan.h.
#pragma once

#include <functional>
#include <string>

#include "io/file.h"
#include "train/pretrain_options.h"
#include "train/step_graph.h"

namespace headwater {

struct PlannedStep {
  std::string name;  // "ELECTRA pair: discriminator 12 x 768, generator 12 x 256"
  int64_t parameters = 0, seq_length = 0;
  OptimizerOptions optimizer;
  GradientSync sync = GradientSync::kMeanThenGlobalClip;
  std::function<StepParts(int64_t rows)> parts;  // of one replica's rows

  // Adds the step of one of `replicas`. kInvalidArgument where sizes do not fit.
  Result<> build(int64_t rows, int64_t replicas, Graph& graph) const;
  // Floating-point operations of `rows` sequences, forward and backward, as the operators count
  // them: products and attention, with what a dropped or recomputed value costs left out.
  Result<double> flops(int64_t rows) const;
  // Bytes of a checkpoint: parameters with all that the optimizer keeps.
  Result<int64_t> state_bytes() const;
};

// Of a run that is looked at and not begun: without a vocabulary, the 30,522 tokens of google's.
Result<int64_t> planned_vocabulary_size(FileSystem& fs, const PretrainOptions& options);

// The pair of `options`.
Result<PlannedStep> plan_electra(FileSystem& fs, const PretrainOptions& options);

// A model by a config.json, or by a folder that has one, with `objective` (empty: what the
// architecture is for). Batch and optimizer are those of `options`.
Result<PlannedStep> plan_model(FileSystem& fs, const std::string& model,
                               const std::string& objective, const PretrainOptions& options);

}  // namespace headwater
