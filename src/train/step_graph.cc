#include "train/step_graph.h"

#include "ops/gradient.h"

namespace headwater {
namespace {

struct Forward {
  ParameterTree tree;
  ForwardPass pass;
};

Forward add_forward(const StepParts& parts, bool training, Graph& graph,
                    const std::string& state_suffix = {}) {
  Forward forward{ParameterTree(graph, state_suffix), {}};
  forward.pass = parts.forward(forward.tree, training);
  return forward;
}

Value scaled(Value x, double factor) { return mul(x, constant_like(x, factor)); }

Value over_replicas(const StepParts& parts, Value value) {
  return parts.replicas > 1 ? all_reduce(value) : value;
}

void add_outputs(const StepParts& parts, const ForwardPass& pass, Graph& graph) {
  // Means of the replicas' own rows are averaged; parts of one mean are added.
  const bool averages = parts.replicas > 1 && parts.sync == GradientSync::kSumOfLocalClip;
  for (const auto& [name, loss] : pass.losses) {
    const Value sum = over_replicas(parts, loss);
    graph.output(name, averages ? scaled(sum, 1 / static_cast<double>(parts.replicas)) : sum);
  }
  for (const auto& [name, value] : pass.outputs) {
    graph.output(name, value.type().rank() == 0 ? over_replicas(parts, value) : value);
  }
}

// What a step changes.
std::vector<Parameter> trained(const StepParts& parts, const Forward& forward) {
  std::vector<Value> values;
  values.reserve(forward.tree.parameters().size());
  for (const Parameter& parameter : forward.tree.parameters()) values.push_back(parameter.value);
  const std::vector<bool> reached = depends_on(forward.pass.loss, values);
  std::vector<Parameter> result;
  for (size_t i = 0; i < values.size(); ++i) {
    const Parameter& parameter = forward.tree.parameters()[i];
    if (reached[i] && (!parts.is_trained || parts.is_trained(parameter.name)))
      result.push_back(parameter);
  }
  if (result.empty()) throw GraphError("no parameter is trained");
  return result;
}

std::vector<Value> gradients_of(Value loss, const std::vector<Parameter>& parameters) {
  std::vector<Value> values;
  values.reserve(parameters.size());
  for (const Parameter& parameter : parameters) values.push_back(parameter.value);
  return gradients(loss, values);
}

// Scaled down to a norm of at most max_norm; 0: as they are.
std::vector<Value> clipped(std::vector<Value> gradients, double max_norm) {
  if (max_norm <= 0) return gradients;
  const Value norm = global_norm(gradients);
  const Value scale =
      div(constant_like(norm, max_norm), maximum(norm, constant_like(norm, max_norm)));
  for (Value& gradient : gradients) gradient = mul(gradient, broadcast_to(scale, gradient.shape()));
  return gradients;
}

// From the gradients of this replica's rows to new parameters.
void add_update(const StepParts& parts, const std::vector<Parameter>& parameters,
                std::vector<Value> gradients, OptimizerOptions optimizer, Graph& graph) {
  if (parts.replicas > 1) {
    if (parts.sync == GradientSync::kSumOfLocalClip) {
      gradients = clipped(std::move(gradients), optimizer.max_grad_norm);
      optimizer.max_grad_norm = 0;
    }
    for (Value& gradient : gradients) gradient = all_reduce(gradient);
  }
  const Value norm = global_norm(gradients);
  graph.output("grad_norm", norm);
  apply_optimizer(parameters, gradients, norm, graph.input("learning_rate", {DType::kF32, {}}),
                  optimizer);
}

// The one place where errors of building become errors of the caller.
template <class Build>
Result<BuiltGraph> caught(Build build) {
  try {
    const ParameterTree tree = build();
    return BuiltGraph{tree.parameters(), tree.aliases()};
  } catch (const GraphError& e) {
    return fail(Code::kInvalidArgument, "the model cannot be built: {}", e.what());
  }
}

}  // namespace

GradientSync gradient_sync_of(std::string_view name) {
  return name == kGradientSyncNames[1] ? GradientSync::kSumOfLocalClip
                                       : GradientSync::kMeanThenGlobalClip;
}

std::string gradient_name(std::string_view parameter) {
  return fmt::format("{}#gradient", parameter);
}

Result<BuiltGraph> build_train_graph(const StepParts& parts, const OptimizerOptions& optimizer,
                                     Graph& graph) {
  return caught([&] {
    const Forward forward = add_forward(parts, /*training=*/true, graph);
    const std::vector<Parameter> parameters = trained(parts, forward);
    add_outputs(parts, forward.pass, graph);
    add_update(parts, parameters, gradients_of(forward.pass.loss, parameters), optimizer, graph);
    return forward.tree;
  });
}

Result<BuiltGraph> build_eval_graph(const StepParts& parts, Graph& graph, bool averaged) {
  return caught([&] {
    const Forward forward =
        add_forward(parts, /*training=*/false, graph, averaged ? ema_name("") : "");
    add_outputs(parts, forward.pass, graph);
    return forward.tree;
  });
}

Result<BuiltGraph> build_gradient_graph(const StepParts& parts, Graph& graph) {
  return caught([&] {
    const Forward forward = add_forward(parts, /*training=*/false, graph);
    const std::vector<Parameter>& parameters = forward.tree.parameters();
    const std::vector<Value> grads = gradients_of(forward.pass.loss, parameters);
    add_outputs(parts, forward.pass, graph);
    graph.output("grad_norm", global_norm(grads));
    for (size_t i = 0; i < grads.size(); ++i) {
      graph.output(fmt::format("grad/{}", parameters[i].name), grads[i]);
    }
    return forward.tree;
  });
}

Result<BuiltGraph> build_accumulate_graph(const StepParts& parts, Graph& graph) {
  return caught([&] {
    const Forward forward = add_forward(parts, /*training=*/true, graph);
    const std::vector<Parameter> parameters = trained(parts, forward);
    const std::vector<Value> grads = gradients_of(forward.pass.loss, parameters);
    add_outputs(parts, forward.pass, graph);
    const Value keep = graph.input("keep", {DType::kF32, {}});
    for (size_t i = 0; i < grads.size(); ++i) {
      const Value sum = graph.input(gradient_name(parameters[i].name), grads[i].type(), true);
      graph.update(sum, add(mul(sum, keep), grads[i]));
    }
    return forward.tree;
  });
}

Result<BuiltGraph> build_update_graph(const StepParts& parts, const OptimizerOptions& optimizer,
                                      Graph& graph) {
  return caught([&] {
    Graph model;
    const Forward forward = add_forward(parts, /*training=*/false, model);
    ParameterTree tree(graph);
    std::vector<Value> sums;
    for (const Parameter& parameter : trained(parts, forward)) {
      tree.add(parameter.name, parameter.value.shape(), parameter.init);
      sums.push_back(graph.input(gradient_name(parameter.name), parameter.value.type(), true));
    }
    add_update(parts, tree.parameters(), std::move(sums), optimizer, graph);
    return tree;
  });
}

}  // namespace headwater
