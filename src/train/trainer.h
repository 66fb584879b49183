// Training of an ELECTRA pair: task_trainer.h for the pair of train_step.h.
//
// What a run does around it (data, schedule, reports, checkpoints) is train/pretrain_run.h.
#pragma once

#include "batches/pretrain_pipeline.h"
#include "train/metrics.h"
#include "train/task_trainer.h"
#include "train/train_step.h"

namespace headwater {

struct TrainerOptions {
  ElectraGraphOptions model;  // sizes are those of one training batch
  OptimizerOptions optimizer;
  int64_t accumulation_steps = 1;      // batches per optimizer step
  int64_t generator_warmup_steps = 0;  // first steps without the discriminator
  bool freeze_tables = false;          // the embedding tables are not trained
  GradientSync gradient_sync = GradientSync::kMeanThenGlobalClip;  // of several replicas
  uint64_t seed = 0;  // of first weights, dropout and samples
};

struct StepResult {
  double mlm_loss = 0;
  std::optional<double>
      disc_loss;  // none while the generator learns alone, and without a discriminator
  double total_loss = 0;
  double grad_norm = 0;  // before clipping
  bool finite() const;
  void add(const StepResult& part);  // the losses of a further batch of the step
};

// See TrainTask.
class ElectraTask {
 public:
  using Options = TrainerOptions;
  using Batch = PretrainBatch;
  using Metrics = ElectraMetrics;
  using StepResult = headwater::StepResult;
  enum class Phase { kGeneratorAlone, kPair };
  static constexpr Phase kEvaluatedPhase = Phase::kPair;
  struct BatchShape {  // the rest is as the options say
    int64_t batch_size = 0;
    friend bool operator==(const BatchShape&, const BatchShape&) = default;
  };

  explicit ElectraTask(const TrainerOptions& options) : options_(options) {}

  Result<ParameterTypes> parameters() const;
  Phase phase(int64_t step) const;
  size_t max_programs() const { return 1; }
  BatchShape shape(const PretrainBatch& batch) const { return {batch.batch_size}; }
  Result<> check(const PretrainBatch& batch) const;
  StepParts train_step(Phase phase, const BatchShape& shape, bool given_totals) const;
  StepParts evaluation(const BatchShape& shape, bool given_totals) const;
  Result<> feed(Program& program, const PretrainBatch& batch) const;
  Scalars totals(std::span<const PretrainBatch> batches) const;
  Result<StepResult> collect(const Program& program, Phase phase, const PretrainBatch& batch,
                             ElectraMetrics& metrics) const;

 private:
  TrainerOptions options_;
};

using Trainer = TaskTrainer<ElectraTask>;
extern template class TaskTrainer<ElectraTask>;

}  // namespace headwater
