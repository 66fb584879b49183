#include "train/train_step.h"

namespace headwater {
namespace {

ElectraInputs add_inputs(const ElectraGraphOptions& options, Graph& graph) {
  const BatchSizes& n = options.sizes;
  const Type tokens{DType::kI32, {n.batch_size, n.seq_length}};
  const Type slots{DType::kI32, {n.batch_size, n.max_predictions}};
  ElectraInputs inputs;
  inputs.input_ids = graph.input("input_ids", tokens);
  inputs.input_mask = graph.input("input_mask", tokens);
  inputs.segment_ids = graph.input("segment_ids", tokens);
  inputs.masked_input_ids = graph.input("masked_input_ids", tokens);
  inputs.masked_lm_positions = graph.input("masked_lm_positions", slots);
  inputs.masked_lm_ids = graph.input("masked_lm_ids", slots);
  inputs.masked_lm_weights = graph.input("masked_lm_weights", {DType::kF32, slots.shape});
  if (options.given_totals) {
    inputs.mlm_weight_total = graph.input("mlm_weight_total", {DType::kF32, {}});
    inputs.disc_weight_total = graph.input("disc_weight_total", {DType::kF32, {}});
  }
  if (options.given_samples) {
    inputs.sampled_ids = graph.input("sampled_ids", {DType::kI32, {slots.size()}});
  }
  return inputs;
}

ForwardPass forward_pass(const ElectraOutputs& out) {
  ForwardPass pass{
      .loss = out.total_loss,
      .losses = {{"mlm_loss", out.mlm_loss},
                 {"total_loss", out.total_loss},
                 {"disc_loss", out.disc_loss}},
      .outputs = {{"mlm_slot_loss", out.mlm_slot_loss},
                  {"mlm_predictions", out.mlm_predictions},
                  {"samples", out.samples},
                  {"disc_logits", out.disc_logits},
                  {"is_fake", out.is_fake},
                  {"fake_ids", out.fake_ids}},
  };
  const auto is_missing = [](const auto& output) { return !output.second.valid(); };
  std::erase_if(pass.losses, is_missing);
  std::erase_if(pass.outputs, is_missing);
  return pass;
}

ForwardPass add_forward(const ElectraGraphOptions& options, ParameterTree& tree, bool training) {
  Graph& graph = tree.graph();
  const ElectraInputs inputs = add_inputs(options, graph);
  ForwardContext context;
  context.key = graph.input("key", {DType::kU32, {2}});
  context.training = training;
  context.batch_size = options.sizes.batch_size;
  context.seq_length = options.sizes.seq_length;
  const ElectraOutputs out =
      build_electra(tree, options.discriminator, options.generator, options.objective, inputs,
                    context, options.with_discriminator);
  return forward_pass(out);
}

}  // namespace

StepParts electra_step(const ElectraGraphOptions& options) {
  StepParts parts;
  parts.forward = [options](ParameterTree& tree, bool training) {
    return add_forward(options, tree, training);
  };
  if (options.freeze_tables) {
    parts.is_trained = [](std::string_view parameter) {
      return parameter.find("electra.embeddings.") == std::string_view::npos;
    };
  }
  return parts;
}

}  // namespace headwater
