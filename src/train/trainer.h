// An ELECTRA pair on a device: parameters, optimizer slots and the compiled programs that train and
// evaluate it.
//
// What a run does around it (data, schedule, reports, checkpoints) is train/pretrain_run.h.
#pragma once

#include <memory>
#include <span>

#include "batches/pretrain_pipeline.h"
#include "checkpoints/fit.h"
#include "executors/executor.h"
#include "state/train_state.h"
#include "train/metrics.h"
#include "train/train_step.h"

namespace headwater {

struct TrainerOptions {
  ElectraGraphOptions model;  // sizes are those of one training batch
  OptimizerOptions optimizer;
  int64_t eval_batch_size = 1;
  int64_t accumulation_steps = 1;      // batches per optimizer step
  int64_t generator_warmup_steps = 0;  // first steps without the discriminator
  bool freeze_tables = false;          // the embedding tables are not trained
  uint64_t seed = 0;                   // of first weights, dropout and samples
};

struct StepResult {
  double mlm_loss = 0;
  std::optional<double>
      disc_loss;  // none while the generator learns alone, and without a discriminator
  double total_loss = 0;
  double grad_norm = 0;  // before clipping
  bool finite() const;
};

class Trainer {
 public:
  // Compiles nothing yet, but builds the model once: sizes that do not fit are an error here.
  static Result<std::unique_ptr<Trainer>> create(const TrainerOptions& options,
                                                 std::unique_ptr<Executor> executor);

  const std::vector<TensorSpec>& parameters() const { return specs_; }
  int64_t parameter_count() const;

  // First weights, from the seed; slots zero.
  Result<> initialize();
  // Weights, and the slots when `with_slots`, which then must be complete. The state must fit
  // (checkpoints/fit.h).
  Result<> load(const TrainState& state, bool with_slots, std::string_view where);
  // What fits by name and shape; the rest gets first weights. Slots likewise, else zero.
  Result<FitReport> load_fitting(const TrainState& state, bool with_slots);
  // The discriminator takes over what the generator has under the same names and shapes. Its
  // moments stay.
  Result<> start_discriminator_from_generator();
  // Copies everything to the host. `step` is what the caller counts; meta stays empty.
  Result<TrainState> state(int64_t step) const;

  // One optimizer step, number `step` from 0, on accumulation_steps batches. Values of the batches
  // are added to `metrics`.
  Result<StepResult> step(std::span<const PretrainBatch> batches, int64_t step,
                          double learning_rate, ElectraMetrics& metrics);
  // Adds one batch of eval_batch_size rows to `metrics`, dropout off; samples depend on seed and
  // batch number only.
  Result<> evaluate(const PretrainBatch& batch, ElectraMetrics& metrics);

  // Of intermediate values, over the programs compiled so far.
  int64_t program_bytes() const;

 private:
  Trainer(const TrainerOptions& options, std::unique_ptr<Executor> executor);
  // Which programs a step needs: they change once, when the discriminator joins.
  Result<> prepare(bool with_discriminator);
  Result<StepResult> run_batch(Program& program, const PretrainBatch& batch, Key key,
                               ElectraMetrics& metrics);
  Result<StepResult> accumulate(std::span<const PretrainBatch> batches, Key key,
                                double learning_rate, ElectraMetrics& metrics);

  TrainerOptions options_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<StateStore> store_;
  std::vector<TensorSpec> specs_;
  std::vector<Initializer> initializers_;
  std::map<std::string, std::string> aliases_;
  std::unique_ptr<Program> train_, update_, eval_;
  bool compiled_with_discriminator_ = false;
};

}  // namespace headwater
