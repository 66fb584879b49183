#include "train/train_step.h"

#include "ops/gradient.h"

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

struct Forward {
  ParameterTree tree;
  ElectraOutputs outputs;
};

Forward add_forward(const ElectraGraphOptions& options, bool training, Graph& graph) {
  const ElectraInputs inputs = add_inputs(options, graph);
  ForwardContext context;
  context.key = graph.input("key", {DType::kU32, {2}});
  context.training = training;
  context.batch_size = options.sizes.batch_size;
  context.seq_length = options.sizes.seq_length;
  Forward forward{ParameterTree(graph), {}};
  forward.outputs = build_electra(forward.tree, options.discriminator, options.generator,
                                  options.objective, inputs, context, options.with_discriminator);
  return forward;
}

void add_outputs(const ElectraOutputs& outputs, Graph& graph) {
  const auto output = [&](std::string name, Value value) {
    if (value.valid()) graph.output(std::move(name), value);
  };
  output("mlm_loss", outputs.mlm_loss);
  output("total_loss", outputs.total_loss);
  output("mlm_slot_loss", outputs.mlm_slot_loss);
  output("mlm_predictions", outputs.mlm_predictions);
  output("samples", outputs.samples);
  output("disc_loss", outputs.disc_loss);
  output("disc_logits", outputs.disc_logits);
  output("is_fake", outputs.is_fake);
  output("fake_ids", outputs.fake_ids);
}

// What a step changes: all parameters, or all but those of the embeddings.
std::vector<Parameter> trained(std::vector<Parameter> parameters,
                               const ElectraGraphOptions& options) {
  if (options.freeze_tables) {
    std::erase_if(parameters, [](const Parameter& parameter) {
      return parameter.name.find("electra.embeddings.") != std::string::npos;
    });
  }
  return parameters;
}

std::vector<Value> values_of(const std::vector<Parameter>& parameters) {
  std::vector<Value> values;
  values.reserve(parameters.size());
  for (const Parameter& parameter : parameters) values.push_back(parameter.value);
  return values;
}

// The one place where errors of building become errors of the caller.
template <class Build>
Result<BuiltGraph> caught(Build build) {
  try {
    const Forward forward = build();
    return BuiltGraph{forward.tree.parameters(), forward.tree.aliases()};
  } catch (const GraphError& e) {
    return fail(Code::kInvalidArgument, "the model cannot be built: {}", e.what());
  }
}

}  // namespace

bool is_decayed(std::string_view name) {
  for (const std::string_view excluded : {"LayerNorm", "layer_norm", "bias"}) {
    if (name.find(excluded) != std::string_view::npos) return false;
  }
  return true;
}

std::string adam_m_name(std::string_view parameter) { return fmt::format("{}#adam_m", parameter); }
std::string adam_v_name(std::string_view parameter) { return fmt::format("{}#adam_v", parameter); }
std::string gradient_name(std::string_view parameter) {
  return fmt::format("{}#gradient", parameter);
}

void apply_optimizer(const std::vector<Parameter>& parameters, const std::vector<Value>& gradients,
                     Value norm, Value learning_rate, const OptimizerOptions& options) {
  Graph& graph = norm.graph();
  graph.set_scope("optimizer");
  Value scale = constant_like(norm, 1);
  if (options.max_grad_norm > 0) {
    scale = minimum(scale, div(constant_like(norm, options.max_grad_norm), norm));
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Parameter& parameter = parameters[i];
    AdamOptions adam = options.adam;
    if (!is_decayed(parameter.name)) adam.weight_decay = 0;
    const Type& type = parameter.value.type();
    const Value m = graph.input(adam_m_name(parameter.name), type, /*is_state=*/true);
    const Value v = graph.input(adam_v_name(parameter.name), type, /*is_state=*/true);
    const AdamUpdate updated =
        adam_update(parameter.value, m, v, gradients[i], scale, learning_rate, adam);
    graph.update(parameter.value, updated.weight);
    graph.update(m, updated.m);
    graph.update(v, updated.v);
  }
}

Result<BuiltGraph> build_train_graph(const ElectraGraphOptions& options,
                                     const OptimizerOptions& optimizer, Graph& graph) {
  return caught([&] {
    Forward forward = add_forward(options, /*training=*/true, graph);
    const std::vector<Parameter> parameters = trained(forward.tree.parameters(), options);
    const std::vector<Value> grads = gradients(forward.outputs.total_loss, values_of(parameters));
    const Value norm = global_norm(grads);
    add_outputs(forward.outputs, graph);
    graph.output("grad_norm", norm);
    apply_optimizer(parameters, grads, norm, graph.input("learning_rate", {DType::kF32, {}}),
                    optimizer);
    return forward;
  });
}

Result<BuiltGraph> build_eval_graph(const ElectraGraphOptions& options, Graph& graph) {
  return caught([&] {
    Forward forward = add_forward(options, /*training=*/false, graph);
    add_outputs(forward.outputs, graph);
    return forward;
  });
}

Result<BuiltGraph> build_gradient_graph(const ElectraGraphOptions& options, Graph& graph) {
  return caught([&] {
    Forward forward = add_forward(options, /*training=*/false, graph);
    const std::vector<Parameter>& parameters = forward.tree.parameters();
    const std::vector<Value> grads = gradients(forward.outputs.total_loss, values_of(parameters));
    add_outputs(forward.outputs, graph);
    graph.output("grad_norm", global_norm(grads));
    for (size_t i = 0; i < grads.size(); ++i) {
      graph.output(fmt::format("grad/{}", parameters[i].name), grads[i]);
    }
    return forward;
  });
}

Result<BuiltGraph> build_accumulate_graph(const ElectraGraphOptions& options, Graph& graph) {
  return caught([&] {
    Forward forward = add_forward(options, /*training=*/true, graph);
    const std::vector<Parameter> parameters = trained(forward.tree.parameters(), options);
    const std::vector<Value> grads = gradients(forward.outputs.total_loss, values_of(parameters));
    add_outputs(forward.outputs, graph);
    const Value keep = graph.input("keep", {DType::kF32, {}});
    for (size_t i = 0; i < grads.size(); ++i) {
      const Value sum = graph.input(gradient_name(parameters[i].name), grads[i].type(), true);
      graph.update(sum, add(mul(sum, keep), grads[i]));
    }
    return forward;
  });
}

Result<BuiltGraph> build_update_graph(const ElectraGraphOptions& options,
                                      const OptimizerOptions& optimizer, Graph& graph) {
  Graph model;
  HW_ASSIGN_OR_RETURN(const BuiltGraph built, build_eval_graph(options, model));
  return caught([&] {
    Forward forward{ParameterTree(graph), {}};
    std::vector<Value> sums;
    for (const Parameter& parameter : trained(built.parameters, options)) {
      forward.tree.add(parameter.name, parameter.value.shape(), parameter.init);
      sums.push_back(graph.input(gradient_name(parameter.name), parameter.value.type(), true));
    }
    const Value norm = global_norm(sums);
    graph.output("grad_norm", norm);
    apply_optimizer(forward.tree.parameters(), sums, norm,
                    graph.input("learning_rate", {DType::kF32, {}}), optimizer);
    return forward;
  });
}

}  // namespace headwater
