#include "graph/graph.h"

#include <algorithm>
#include <bit>

#include "graph/op.h"

namespace headwater {
namespace {

size_t mix(size_t seed, size_t value) {
  return seed ^ (value + 0x9e3779b97f4a7c15u + (seed << 6) + (seed >> 2));
}

size_t hash_call(const Op& op, const std::vector<Value>& inputs, const Attrs& attrs) {
  size_t hash = std::bit_cast<size_t>(&op);
  for (const Value& value : inputs) {
    hash = mix(hash, static_cast<size_t>(value.node()) * 16 + static_cast<size_t>(value.output()));
  }
  return mix(hash, std::hash<std::string>()(attrs.text()));
}

std::vector<Type> types_of(const std::vector<Value>& values) {
  std::vector<Type> types;
  types.reserve(values.size());
  for (const Value& value : values) types.push_back(value.type());
  return types;
}

std::vector<Value> outputs_of(Graph& graph, int32_t node) {
  std::vector<Value> values;
  const auto count = static_cast<int32_t>(graph.node(node).outputs.size());
  for (int32_t i = 0; i < count; ++i) values.emplace_back(&graph, node, i);
  return values;
}

std::vector<Type> infer_input(const InferContext& c) {
  c.require(false, "inputs are added by Graph::input()");
  return {};
}

}  // namespace

const Op kInputOp = {.name = "input", .infer = infer_input};

std::string Type::text() const {
  return fmt::format("{}[{}]", dtype_name(dtype), fmt::join(shape, ","));
}

const Type& Value::type() const {
  return graph_->node(node_).outputs[static_cast<size_t>(output_)];
}

int64_t Value::dim(int64_t axis) const {
  const int64_t rank = type().rank();
  if (axis < -rank || axis >= rank) {
    throw GraphError(fmt::format("axis {} of {} does not exist", axis, type().text()));
  }
  return shape()[static_cast<size_t>(axis < 0 ? axis + rank : axis)];
}

void InferContext::require(bool condition, std::string_view message) const {
  if (condition) return;
  std::string operands;
  for (const Type& type : inputs) operands += (operands.empty() ? "" : ", ") + type.text();
  throw GraphError(fmt::format("{}({}): {}", op, operands, message));
}

void InferContext::require_count(size_t count) const {
  if (inputs.size() != count) require(false, fmt::format("wants {} operands", count));
}

void InferContext::require_dtype(size_t i, DType dtype) const {
  if (in(i).dtype != dtype) {
    require(false, fmt::format("operand {} must be {}", i, dtype_name(dtype)));
  }
}

void InferContext::require_rank(size_t i, int64_t rank) const {
  if (in(i).rank() != rank) require(false, fmt::format("operand {} must have rank {}", i, rank));
}

void InferContext::require_same_type(size_t i, size_t j) const {
  if (in(i) != in(j)) {
    require(false, fmt::format("operands {} and {} must have the same type", i, j));
  }
}

Value Graph::input(std::string name, Type type, bool is_state) {
  if (!input_by_name_.emplace(name, inputs_.size()).second) {
    throw GraphError(fmt::format("input {} exists already", name));
  }
  const auto id = static_cast<int32_t>(nodes_.size());
  nodes_.push_back(Node{&kInputOp, {}, Attrs{{"name", name}}, {std::move(type)}, scope_});
  const Value value(this, id, 0);
  inputs_.push_back({std::move(name), value, is_state});
  return value;
}

std::vector<Value> Graph::call(const Op& op, std::vector<Value> inputs, Attrs attrs) {
  for (const Value& value : inputs) {
    if (!value.valid() || &value.graph() != this) {
      throw GraphError(fmt::format("{}: an operand belongs to another graph", op.name));
    }
  }
  const size_t hash = hash_call(op, inputs, attrs);
  for (auto [it, end] = by_hash_.equal_range(hash); it != end; ++it) {
    const Node& other = node(it->second);
    if (other.op == &op && other.inputs == inputs && other.attrs == attrs) {
      return outputs_of(*this, it->second);
    }
  }
  std::vector<Type> outputs;
  try {
    outputs = op.infer(InferContext{op.name, types_of(inputs), attrs});
  } catch (const GraphError& e) {
    throw GraphError(scope_.empty() ? std::string(e.what())
                                    : fmt::format("{}: {}", scope_, e.what()));
  }
  const auto id = static_cast<int32_t>(nodes_.size());
  nodes_.push_back(Node{&op, std::move(inputs), std::move(attrs), std::move(outputs), scope_});
  by_hash_.emplace(hash, id);
  return outputs_of(*this, id);
}

void Graph::output(std::string name, Value value) {
  const auto same = [&](const GraphOutput& o) { return o.name == name; };
  if (std::any_of(outputs_.begin(), outputs_.end(), same)) {
    throw GraphError(fmt::format("output {} exists already", name));
  }
  outputs_.push_back({std::move(name), value});
}

void Graph::update(Value state_input, Value value) {
  const GraphInput* input = input_of(state_input);
  if (input == nullptr || !input->is_state) throw GraphError("only a state input can be updated");
  if (input->value.type() != value.type()) {
    throw GraphError(fmt::format("update of {} changes its type from {} to {}", input->name,
                                 input->value.type().text(), value.type().text()));
  }
  updates_.push_back({state_input, value});
}

const GraphInput* Graph::find_input(std::string_view name) const {
  const auto it = input_by_name_.find(std::string(name));
  return it == input_by_name_.end() ? nullptr : &inputs_[it->second];
}

const GraphInput* Graph::input_of(Value value) const {
  const Node& source = node(value.node());
  return source.op == &kInputOp ? find_input(source.attrs.get_text("name")) : nullptr;
}

void verify(const Graph& graph) {
  for (size_t id = 0; id < graph.nodes().size(); ++id) {
    const Node& node = graph.nodes()[id];
    for (const Value& input : node.inputs) {
      if (input.node() < 0 || input.node() >= static_cast<int32_t>(id)) {
        throw GraphError(fmt::format("node {} ({}) reads node {}, which does not come before it",
                                     id, node.op->name, input.node()));
      }
    }
    if (node.op == &kInputOp) continue;
    const auto types =
        node.op->infer(InferContext{node.op->name, types_of(node.inputs), node.attrs});
    if (types != node.outputs) {
      throw GraphError(
          fmt::format("node {} ({}) has other types than its operator gives", id, node.op->name));
    }
  }
}

}  // namespace headwater
