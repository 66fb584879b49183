// Passes that copy one graph into another: dead-code elimination, replacement, decomposition.
#include <algorithm>

#include "graph/graph.h"
#include "graph/op.h"

namespace headwater {
namespace {

// Old node -> its values in the new graph.
class Copies {
 public:
  explicit Copies(size_t nodes) : values_(nodes) {}
  void set(size_t node, std::vector<Value> values) { values_[node] = std::move(values); }
  Value of(Value old) const {
    return values_[static_cast<size_t>(old.node())][static_cast<size_t>(old.output())];
  }
  std::vector<Value> of(const std::vector<Value>& old) const {
    std::vector<Value> values;
    values.reserve(old.size());
    for (const Value& value : old) values.push_back(of(value));
    return values;
  }

 private:
  std::vector<std::vector<Value>> values_;
};

std::vector<bool> live_nodes(const Graph& graph) {
  std::vector<bool> live(graph.nodes().size(), false);
  const auto mark = [&](Value v) { live[static_cast<size_t>(v.node())] = true; };
  for (const GraphInput& input : graph.inputs()) mark(input.value);
  for (const GraphOutput& output : graph.outputs()) mark(output.value);
  for (const StateUpdate& update : graph.updates()) mark(update.value);
  for (size_t id = graph.nodes().size(); id-- > 0;) {
    if (live[id])
      std::for_each(graph.nodes()[id].inputs.begin(), graph.nodes()[id].inputs.end(), mark);
  }
  return live;
}

void require_types(const Node& node, const std::vector<Value>& values) {
  const bool same =
      std::equal(values.begin(), values.end(), node.outputs.begin(), node.outputs.end(),
                 [](const Value& value, const Type& type) { return value.type() == type; });
  if (!same)
    throw GraphError(fmt::format("{} is replaced by values of other types", node.op->name));
}

bool is_expanded(const Op& op, bool (*keep)(const Op&)) {
  return op.decompose != nullptr && (keep == nullptr || !keep(op));
}

// The outputs of a fused call, built from primitives in `into`. The decomposition is written into a
// scratch graph first, because what it calls may be fused itself.
std::vector<Value> expand(const Op& op, const std::vector<Value>& inputs, const Attrs& attrs,
                          bool (*keep)(const Op&), Graph& into) {
  Graph scratch;
  std::vector<Value> arguments;
  for (size_t i = 0; i < inputs.size(); ++i) {
    arguments.push_back(scratch.input(fmt::format("{}", i), inputs[i].type()));
  }
  const std::vector<Value> results = op.decompose(scratch, arguments, attrs);
  Copies copies(scratch.nodes().size());
  size_t next_argument = 0;
  for (size_t id = 0; id < scratch.nodes().size(); ++id) {
    const Node& node = scratch.nodes()[id];
    if (node.op == &kInputOp) {
      copies.set(id, {inputs[next_argument++]});
    } else if (is_expanded(*node.op, keep)) {
      copies.set(id, expand(*node.op, copies.of(node.inputs), node.attrs, keep, into));
    } else {
      copies.set(id, into.call(*node.op, copies.of(node.inputs), node.attrs));
    }
  }
  return copies.of(results);
}

}  // namespace

void rewrite(const Graph& from, Graph& into, const Replacement& replace) {
  const std::vector<bool> live = live_nodes(from);
  Copies copies(from.nodes().size());
  for (size_t id = 0; id < from.nodes().size(); ++id) {
    if (!live[id]) continue;
    const Node& node = from.nodes()[id];
    into.set_scope(node.scope);
    if (node.op == &kInputOp) {
      const GraphInput* input = from.find_input(node.attrs.get_text("name"));
      copies.set(id, {into.input(input->name, node.outputs[0], input->is_state)});
      continue;
    }
    std::vector<Value> inputs = copies.of(node.inputs);
    std::optional<std::vector<Value>> replaced;
    if (replace != nullptr) replaced = replace(node, inputs, into);
    if (replaced) require_types(node, *replaced);
    copies.set(
        id, replaced ? std::move(*replaced) : into.call(*node.op, std::move(inputs), node.attrs));
  }
  into.set_scope("");
  for (const GraphOutput& output : from.outputs())
    into.output(output.name, copies.of(output.value));
  for (const StateUpdate& update : from.updates()) {
    into.update(copies.of(update.input), copies.of(update.value));
  }
}

void decompose(const Graph& from, Graph& into, bool (*keep)(const Op& op)) {
  Graph expanded;
  rewrite(from, expanded,
          [keep](const Node& node, const std::vector<Value>& inputs, Graph& target) {
            std::optional<std::vector<Value>> result;
            if (is_expanded(*node.op, keep))
              result = expand(*node.op, inputs, node.attrs, keep, target);
            return result;
          });
  rewrite(expanded, into);  // without the results of decompositions that nobody asks for
}

}  // namespace headwater
