#include "ops/gradient.h"

#include <algorithm>
#include <map>

#include "graph/op.h"
#include "ops/ops.h"

namespace headwater {
namespace {

using Slot = std::pair<int32_t, int32_t>;  // node, output

Slot slot(Value value) { return {value.node(), value.output()}; }

class Reverse {
 public:
  Reverse(Graph& graph, const std::vector<Value>& wrt) : graph_(graph) {
    const auto limit = static_cast<size_t>(graph.nodes().size());
    depends_.assign(limit, false);
    for (const Value& value : wrt) {
      wrt_.insert({slot(value), value});
      depends_[static_cast<size_t>(value.node())] = true;
    }
    for (size_t id = 0; id < limit; ++id) {
      for (const Value& input : graph.nodes()[id].inputs) {
        if (depends_[static_cast<size_t>(input.node())]) depends_[id] = true;
      }
    }
  }

  void add(Value target, Value gradient) {
    if (!gradient.valid() || target.dtype() != DType::kF32) return;
    if (gradient.type() != target.type()) {
      throw GraphError(
          fmt::format("gradient of {} has type {}", target.type().text(), gradient.type().text()));
    }
    const auto [it, inserted] = grads_.try_emplace(slot(target), gradient);
    if (!inserted) it->second = headwater::add(it->second, gradient);
  }

  void run() {
    for (size_t id = depends_.size(); id-- > 0;) {
      if (depends_[id]) visit(static_cast<int32_t>(id));
    }
  }

  Value of(Value value) const {
    const auto it = grads_.find(slot(value));
    return it == grads_.end() ? constant_like(value, 0) : it->second;
  }

 private:
  void visit(int32_t id) {
    // By value: adding gradient nodes moves the node list.
    const Node node = graph_.node(id);
    std::vector<Value> outputs, output_grads;
    bool any = false;
    for (int32_t i = 0; i < static_cast<int32_t>(node.outputs.size()); ++i) {
      outputs.emplace_back(&graph_, id, i);
      const auto it = grads_.find({id, i});
      const bool found = it != grads_.end() && wrt_.find({id, i}) == wrt_.end();
      output_grads.push_back(found ? it->second : Value());
      any |= found;
    }
    if (!any || node.inputs.empty()) return;
    std::vector<bool> wanted;
    for (const Value& input : node.inputs) {
      wanted.push_back(input.dtype() == DType::kF32 && depends_[static_cast<size_t>(input.node())]);
    }
    if (std::none_of(wanted.begin(), wanted.end(), [](bool w) { return w; })) return;
    graph_.set_scope(node.scope);
    const std::vector<Value> grads = node_grads(node, outputs, output_grads, wanted);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (wanted[i]) add(node.inputs[i], grads[i]);
    }
  }

  std::vector<Value> node_grads(const Node& node, const std::vector<Value>& outputs,
                                const std::vector<Value>& output_grads,
                                const std::vector<bool>& wanted) const {
    if (node.op->vjp != nullptr) return node.op->vjp({node, outputs, output_grads, wanted});
    if (node.op->decompose == nullptr) {
      throw GraphError(fmt::format("{}: {} has no gradient", node.scope, node.op->name));
    }
    const std::vector<Value> expanded = node.op->decompose(graph_, node.inputs, node.attrs);
    std::vector<Value> used, used_grads, targets;
    for (size_t i = 0; i < expanded.size(); ++i) {
      if (output_grads[i].valid())
        used.push_back(expanded[i]), used_grads.push_back(output_grads[i]);
    }
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (wanted[i]) targets.push_back(node.inputs[i]);
    }
    const std::vector<Value> found = pullback(used, used_grads, targets);
    std::vector<Value> grads(wanted.size());
    for (size_t i = 0, next = 0; i < wanted.size(); ++i) {
      if (wanted[i]) grads[i] = found[next++];
    }
    return grads;
  }

  Graph& graph_;
  std::map<Slot, Value> wrt_;
  std::map<Slot, Value> grads_;
  std::vector<bool> depends_;  // per node: does it depend on a wrt value
};

}  // namespace

std::vector<Value> pullback(const std::vector<Value>& outputs,
                            const std::vector<Value>& output_grads, const std::vector<Value>& wrt) {
  if (wrt.empty()) return {};
  Graph& graph = wrt[0].graph();
  const std::string scope = graph.scope();
  Reverse reverse(graph, wrt);
  for (size_t i = 0; i < outputs.size(); ++i) reverse.add(outputs[i], output_grads[i]);
  reverse.run();
  graph.set_scope(scope);
  std::vector<Value> result;
  result.reserve(wrt.size());
  for (const Value& value : wrt) result.push_back(reverse.of(value));
  return result;
}

std::vector<bool> depends_on(Value output, const std::vector<Value>& values) {
  const Graph& graph = output.graph();
  std::vector<bool> reached(graph.nodes().size());
  reached[static_cast<size_t>(output.node())] = true;
  for (size_t id = reached.size(); id-- > 0;) {
    if (!reached[id]) continue;
    for (const Value& input : graph.nodes()[id].inputs)
      reached[static_cast<size_t>(input.node())] = true;
  }
  std::vector<bool> result;
  result.reserve(values.size());
  for (const Value& value : values) result.push_back(reached[static_cast<size_t>(value.node())]);
  return result;
}

std::vector<Value> gradients(Value loss, const std::vector<Value>& wrt) {
  if (loss.type() != Type{DType::kF32, {}}) {
    throw GraphError("only a scalar f32 loss has gradients, not " + loss.type().text());
  }
  return pullback({loss}, {constant_like(loss, 1)}, wrt);
}

}  // namespace headwater
