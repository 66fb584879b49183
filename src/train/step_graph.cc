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

void add_outputs(const ForwardPass& pass, Graph& graph) {
  for (const auto& [name, value] : pass.outputs) graph.output(name, value);
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

void add_update(const std::vector<Parameter>& parameters, const std::vector<Value>& gradients,
                Value norm, const OptimizerOptions& optimizer, Graph& graph) {
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

std::string gradient_name(std::string_view parameter) {
  return fmt::format("{}#gradient", parameter);
}

Result<BuiltGraph> build_train_graph(const StepParts& parts, const OptimizerOptions& optimizer,
                                     Graph& graph) {
  return caught([&] {
    const Forward forward = add_forward(parts, /*training=*/true, graph);
    const std::vector<Parameter> parameters = trained(parts, forward);
    const std::vector<Value> grads = gradients_of(forward.pass.loss, parameters);
    const Value norm = global_norm(grads);
    add_outputs(forward.pass, graph);
    add_update(parameters, grads, norm, optimizer, graph);
    return forward.tree;
  });
}

Result<BuiltGraph> build_eval_graph(const StepParts& parts, Graph& graph, bool averaged) {
  return caught([&] {
    const Forward forward =
        add_forward(parts, /*training=*/false, graph, averaged ? ema_name("") : "");
    add_outputs(forward.pass, graph);
    return forward.tree;
  });
}

Result<BuiltGraph> build_gradient_graph(const StepParts& parts, Graph& graph) {
  return caught([&] {
    const Forward forward = add_forward(parts, /*training=*/false, graph);
    const std::vector<Parameter>& parameters = forward.tree.parameters();
    const std::vector<Value> grads = gradients_of(forward.pass.loss, parameters);
    add_outputs(forward.pass, graph);
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
    add_outputs(forward.pass, graph);
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
    add_update(tree.parameters(), sums, global_norm(sums), optimizer, graph);
    return tree;
  });
}

}  // namespace headwater
