#include "train/step_trial.h"

#include <algorithm>
#include <chrono>

#include "train/planned_step.h"
#include "train/run_inputs.h"
#include "train/trainer.h"

namespace headwater {
namespace {

constexpr int64_t kTrialTokens = 4096;  // enough to keep the cores busy

PretrainBatch made_up_batch(const TrainerOptions& trainer, int64_t rows, int64_t length,
                            int64_t predictions, int64_t vocab_size) {
  PretrainBatch batch;
  batch.batch_size = batch.real_rows = rows;
  batch.seq_length = length;
  batch.max_predictions = predictions;
  const auto tokens = static_cast<size_t>(rows * length);
  const auto places = static_cast<size_t>(rows * predictions);
  const Key key = Key::from_seed(trainer.seed).fold_in("trial");
  for (size_t i = 0; i < tokens; ++i)
    batch.input_ids.push_back(
        static_cast<int32_t>(key.bits(i) % static_cast<uint32_t>(vocab_size)));
  batch.masked_input_ids = batch.input_ids;
  batch.input_mask.assign(tokens, 1);
  batch.segment_ids.assign(tokens, 0);
  for (size_t i = 0; i < places; ++i) {
    const auto place =
        static_cast<int32_t>(i % std::max<size_t>(1, static_cast<size_t>(predictions)));
    batch.masked_lm_positions.push_back(place);
    batch.masked_lm_ids.push_back(batch.input_ids[i % tokens]);
  }
  batch.masked_lm_weights.assign(places, 1);
  return batch;
}

}  // namespace

Result<StepTrial> try_step(FileSystem& fs, const PretrainOptions& given) {
  PretrainOptions options = given;
  const int64_t rows =
      std::clamp<int64_t>(kTrialTokens / given.max_seq_length, 1, given.train_batch_size);
  options.train_batch_size = rows;
  options.gradient_accumulation_steps = 1;
  HW_ASSIGN_OR_RETURN(const int64_t vocabulary, planned_vocabulary_size(fs, options));
  HW_ASSIGN_OR_RETURN(const ElectraConfigs configs, options.model_configs(vocabulary));
  TrainerOptions trainer_of = trainer_options(options, configs);
  trainer_of.generator_warmup_steps = 0;
  HW_ASSIGN_OR_RETURN(auto executor, Executor::open("cpu"));
  HW_ASSIGN_OR_RETURN(auto trainer, Trainer::create(trainer_of, std::move(executor)));
  HW_RETURN_IF_ERROR(trainer->initialize());
  const std::vector<PretrainBatch> batches = {
      made_up_batch(trainer_of, rows, options.max_seq_length,
                    options.max_predictions_per_seq.value_or(1), configs.discriminator.vocab_size)};
  StepTrial trial;
  const double scale = static_cast<double>(given.train_batch_size) / static_cast<double>(rows);
  for (int64_t step = 0; step < 2; ++step) {  // the first one allocates
    const auto start = std::chrono::steady_clock::now();
    ElectraMetrics metrics;
    HW_RETURN_IF_ERROR(trainer->step(batches, step, options.learning_rate, metrics));
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    trial.seconds = spent.count() * scale * static_cast<double>(given.gradient_accumulation_steps);
  }
  HW_ASSIGN_OR_RETURN(const PlannedStep planned, plan_electra(fs, options));
  HW_ASSIGN_OR_RETURN(const int64_t state, planned.state_bytes());
  trial.memory_bytes =
      state + static_cast<int64_t>(static_cast<double>(trainer->program_bytes()) * scale);
  return trial;
}

}  // namespace headwater
