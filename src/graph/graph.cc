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
  values.reserve(static_cast<size_t>(count));
  for (int32_t i = 0; i < count; ++i) values.emplace_back(&graph, node, i);
  return values;
}

std::vector<Type> infer_input(const InferContext& c) {
  c.require(false, "inputs are added by Graph::input()");
  return {};
}

// "scope: op(operand types): "
std::string call_text(std::string_view scope, const Op& op, const std::vector<Value>& inputs) {
  std::string text;
  if (!scope.empty()) text = fmt::format("{}: ", scope);
  text += fmt::format("{}(", op.name);
  for (size_t i = 0; i < inputs.size(); ++i) {
    text += (i == 0 ? "" : ", ") + inputs[i].type().text();
  }
  return text + "): ";
}

std::vector<Type> infer_types(std::string_view scope, const Op& op,
                              const std::vector<Value>& inputs, const Attrs& attrs) {
  try {
    std::vector<Type> outputs = op.infer(InferContext{types_of(inputs), attrs});
    for (const Type& type : outputs) {
      if (!type.is_valid()) throw GraphError(fmt::format("no value can be {}", type.text()));
    }
    return outputs;
  } catch (const GraphError& e) {
    throw GraphError(call_text(scope, op, inputs) + e.what());
  }
}

// At most kMaxRank extents, none negative, not more than kMaxElements elements; an extent of 0
// excuses no other one.
bool is_bounded(const Shape& shape) {
  if (shape.size() > kMaxRank) return false;
  int64_t count = 1;
  for (const int64_t extent : shape) {
    if (extent < 0 || std::max<int64_t>(extent, 1) > kMaxElements / count) return false;
    count *= std::max<int64_t>(extent, 1);
  }
  return true;
}

}  // namespace

const Op kInputOp = {.name = "input", .infer = infer_input};

std::string Type::text() const {
  return fmt::format("{}[{}]", dtype_name(dtype), fmt::join(shape, ","));
}

bool Type::is_valid() const {
  const bool computable =
      dtype == DType::kF32 || dtype == DType::kI32 || dtype == DType::kU32 || dtype == DType::kPred;
  return computable && is_bounded(shape);
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
  if (!condition) throw GraphError(std::string(message));
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

void InferContext::require_shape(const Shape& shape) const {
  if (!is_bounded(shape)) require(false, fmt::format("no value has shape {}", shape_text(shape)));
}

void Graph::require_own(Value value, std::string_view user) const {
  const bool own = value.valid() && &value.graph() == this && value.node() >= 0 &&
                   value.node() < static_cast<int32_t>(nodes_.size()) && value.output() >= 0 &&
                   value.output() < static_cast<int32_t>(node(value.node()).outputs.size());
  if (!own) throw GraphError(fmt::format("{}: not a value of this graph", user));
}

Value Graph::input(std::string name, Type type, bool is_state) {
  if (!type.is_valid()) {
    throw GraphError(fmt::format("input {}: no value can be {}", name, type.text()));
  }
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
  for (const Value& value : inputs) require_own(value, op.name);
  const size_t hash = hash_call(op, inputs, attrs);
  for (auto [it, end] = by_hash_.equal_range(hash); it != end; ++it) {
    const Node& other = node(it->second);
    if (other.op == &op && other.inputs == inputs && other.attrs == attrs) {
      return outputs_of(*this, it->second);
    }
  }
  std::vector<Type> outputs = infer_types(scope_, op, inputs, attrs);
  const auto id = static_cast<int32_t>(nodes_.size());
  nodes_.push_back(Node{&op, std::move(inputs), std::move(attrs), std::move(outputs), scope_});
  by_hash_.emplace(hash, id);
  return outputs_of(*this, id);
}

void Graph::output(std::string name, Value value) {
  require_own(value, name);
  const auto same = [&](const GraphOutput& o) { return o.name == name; };
  if (std::any_of(outputs_.begin(), outputs_.end(), same)) {
    throw GraphError(fmt::format("output {} exists already", name));
  }
  outputs_.push_back({std::move(name), value});
}

void Graph::update(Value state_input, Value value) {
  require_own(state_input, "update");
  require_own(value, "update");
  const GraphInput* input = input_of(state_input);
  if (input == nullptr || !input->is_state) throw GraphError("only a state input can be updated");
  if (input->value.type() != value.type()) {
    throw GraphError(fmt::format("update of {} changes its type from {} to {}", input->name,
                                 input->value.type().text(), value.type().text()));
  }
  const auto same = [&](const StateUpdate& u) { return u.input == state_input; };
  if (std::any_of(updates_.begin(), updates_.end(), same)) {
    throw GraphError(fmt::format("{} is updated twice", input->name));
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
    const std::string place = fmt::format("node {}", id);
    if (infer_types(place, *node.op, node.inputs, node.attrs) != node.outputs) {
      throw GraphError(
          fmt::format("node {} ({}) has other types than its operator gives", id, node.op->name));
    }
  }
}

}  // namespace headwater
