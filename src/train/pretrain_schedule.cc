// Where a run begins and ends, and the rates in between.
#include <algorithm>

#include "io/file.h"
#include "train/pretrain_options.h"

namespace headwater {

int64_t PretrainOptions::first_step(int64_t checkpoint_step) const {
  return start_step.value_or(continue_schedule || start_learning_rate ? checkpoint_step : 0);
}

Result<Schedule> PretrainOptions::schedule(int64_t begin) const {
  if (start_learning_rate) {
    return Schedule{.peak = *start_learning_rate,
                    .total_steps = begin + *extra_steps,
                    .power = lr_decay_power,
                    .decay_from = begin};
  }
  Schedule schedule{.peak = learning_rate,
                    .warmup_steps = num_warmup_steps,
                    .total_steps = extra_steps ? begin + *extra_steps : num_train_steps,
                    .power = lr_decay_power};
  if (schedule.total_steps > begin) return schedule;
  return fail_hint(
      Code::kInvalidArgument,
      fmt::format("to train N more give --extra-steps N or --num-train-steps {} + N; the rate then "
                  "starts at {:.3g} * N / ({} + N), so for a start at X give --start-learning-rate "
                  "X --extra-steps N",
                  begin, learning_rate, begin),
      "num_train_steps is {}, but the run starts at step {}: nothing is left to train",
      num_train_steps, begin);
}

PretrainOptions PretrainOptions::generator_phase(const Schedule& schedule, int64_t begin) const {
  PretrainOptions phase = *this;
  const int64_t steps =
      generator_steps.value_or(std::max<int64_t>(1000, (schedule.total_steps - begin) / 10));
  phase.output_dir = join_path(output_dir, "generator");
  phase.num_train_steps = phase.generator_warmup_steps = steps;
  phase.num_warmup_steps = std::min(num_warmup_steps, steps / 10);
  phase.missing_generator = "random";
  phase.start_step.reset();
  phase.extra_steps.reset();
  phase.continue_schedule.reset();
  phase.start_learning_rate.reset();
  return phase;
}

Restart PretrainOptions::restart(int64_t begin) const {
  Restart restart{
      .from_step = begin, .rewarm_steps = rewarm_steps, .beta1 = adam_beta1, .beta2 = adam_beta2};
  const bool own_warmup = !start_learning_rate && begin < num_warmup_steps;
  if (own_warmup) return restart;
  restart.kind = missing_slots == "rewarm" ? Restart::Kind::kRewarm : Restart::Kind::kBiasCorrect;
  return restart;
}

bool PretrainOptions::discriminator_joins(const ElectraConfigs& configs) const {
  const ElectraConfig &d = configs.discriminator, &g = configs.generator;
  return discriminator_from_generator && generator_warmup_steps > 0 && electra_objective &&
         untied_generator && g.hidden_size == d.hidden_size &&
         g.num_attention_heads == d.num_attention_heads &&
         g.intermediate_size == d.intermediate_size;
}

Restart PretrainOptions::restart_at_join() const {
  Restart restart{.from_step = generator_warmup_steps, .beta1 = adam_beta1, .beta2 = adam_beta2};
  if (generator_warmup_steps >= num_warmup_steps) restart.kind = Restart::Kind::kBiasCorrect;
  return restart;
}

}  // namespace headwater
