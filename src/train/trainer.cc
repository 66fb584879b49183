#include "train/trainer.h"

#include <cmath>

namespace headwater {

template class TaskTrainer<ElectraTask>;

namespace {

// Adds what a program gave for a batch. Rows that only fill up the last batch of a pass have no
// weight.
Result<> add_metrics(const Program& program, const PretrainBatch& batch, bool electra,
                     bool with_discriminator, ElectraMetrics& metrics) {
  HW_ASSIGN_OR_RETURN(const Tensor predictions, program.fetch("mlm_predictions"));
  HW_ASSIGN_OR_RETURN(const Tensor samples, program.fetch("samples"));
  HW_ASSIGN_OR_RETURN(const Tensor losses, program.fetch("mlm_slot_loss"));
  metrics.add(GeneratorOutputs{batch.masked_lm_ids, predictions.as<int32_t>(),
                               electra ? samples.as<int32_t>() : std::span<const int32_t>(),
                               losses.as<float>(), batch.masked_lm_weights});
  if (!with_discriminator) return {};
  HW_ASSIGN_OR_RETURN(const Tensor logits, program.fetch("disc_logits"));
  HW_ASSIGN_OR_RETURN(const Tensor labels, program.fetch("is_fake"));
  const auto real = static_cast<size_t>(batch.real_rows * batch.seq_length);
  metrics.add(DiscriminatorOutputs{batch.seq_length, logits.as<float>().first(real),
                                   labels.as<int32_t>().first(real),
                                   std::span(batch.input_mask).first(real)});
  return {};
}

}  // namespace

bool StepResult::finite() const { return std::isfinite(total_loss) && std::isfinite(grad_norm); }

void StepResult::add(const StepResult& part) {
  mlm_loss += part.mlm_loss;
  total_loss += part.total_loss;
  if (part.disc_loss) disc_loss = disc_loss.value_or(0) + *part.disc_loss;
}

Result<ParameterTypes> ElectraTask::parameters() const {
  Graph graph;
  HW_ASSIGN_OR_RETURN(const BuiltGraph built,
                      build_eval_graph(electra_step(options_.model), graph));
  ParameterTypes types{{}, built.aliases};
  for (const Parameter& p : built.parameters)
    types.parameters.push_back({p.name, p.value.type(), p.init});
  return types;
}

ElectraTask::Phase ElectraTask::phase(int64_t step) const {
  return step >= options_.generator_warmup_steps ? Phase::kPair : Phase::kGeneratorAlone;
}

Result<> ElectraTask::check(const PretrainBatch&) const { return {}; }  // shapes: by feeding

StepParts ElectraTask::train_step(Phase phase, const BatchShape& shape, bool given_totals) const {
  ElectraGraphOptions model = options_.model;
  model.sizes.batch_size = shape.batch_size;
  model.with_discriminator = phase == Phase::kPair;
  model.freeze_tables = options_.freeze_tables;
  model.given_totals = given_totals;
  return electra_step(model);
}

StepParts ElectraTask::evaluation(const BatchShape& shape, bool given_totals) const {
  ElectraGraphOptions model = options_.model;
  model.sizes.batch_size = shape.batch_size;
  model.given_totals = given_totals;
  return electra_step(model);
}

Result<> ElectraTask::feed(Program& program, const PretrainBatch& batch) const {
  const Shape tokens{batch.batch_size, batch.seq_length};
  const Shape slots{batch.batch_size, batch.max_predictions};
  HW_RETURN_IF_ERROR(program.feed("input_ids", Tensor::i32(tokens, batch.input_ids)));
  HW_RETURN_IF_ERROR(program.feed("input_mask", Tensor::i32(tokens, batch.input_mask)));
  HW_RETURN_IF_ERROR(program.feed("segment_ids", Tensor::i32(tokens, batch.segment_ids)));
  HW_RETURN_IF_ERROR(program.feed("masked_input_ids", Tensor::i32(tokens, batch.masked_input_ids)));
  HW_RETURN_IF_ERROR(
      program.feed("masked_lm_positions", Tensor::i32(slots, batch.masked_lm_positions)));
  HW_RETURN_IF_ERROR(program.feed("masked_lm_ids", Tensor::i32(slots, batch.masked_lm_ids)));
  return program.feed("masked_lm_weights", Tensor::f32(slots, batch.masked_lm_weights));
}

Scalars ElectraTask::totals(std::span<const PretrainBatch> batches) const {
  double mlm_total = 0, disc_total = 0;
  for (const PretrainBatch& batch : batches) {
    for (const float weight : batch.masked_lm_weights) mlm_total += static_cast<double>(weight);
    for (const int32_t mask : batch.input_mask) disc_total += mask;
  }
  return {{"mlm_weight_total", mlm_total}, {"disc_weight_total", disc_total}};
}

Result<StepResult> ElectraTask::collect(const Program& program, Phase phase,
                                        const PretrainBatch& batch, ElectraMetrics& metrics) const {
  const bool electra = options_.model.objective.electra_objective;
  const bool with_discriminator = electra && phase == Phase::kPair;
  HW_RETURN_IF_ERROR(add_metrics(program, batch, electra, with_discriminator, metrics));
  StepResult result;
  HW_ASSIGN_OR_RETURN(result.mlm_loss, fetch_scalar(program, "mlm_loss"));
  HW_ASSIGN_OR_RETURN(result.total_loss, fetch_scalar(program, "total_loss"));
  if (with_discriminator) {
    HW_ASSIGN_OR_RETURN(result.disc_loss, fetch_scalar(program, "disc_loss"));
  }
  return result;
}

}  // namespace headwater
