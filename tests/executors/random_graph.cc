#include "executors/random_graph.h"

#include <algorithm>

#include "base/threads.h"
#include "base/threefry.h"
#include "graph/op.h"
#include "ops/ops.h"
#include "ops/registry.h"

namespace headwater {
namespace {

const Shape kMatrix = {6, 8}, kFlat = {48}, kTurned = {8, 6}, kRow = {8}, kColumn = {6};

class RandomGraph {
 public:
  RandomGraph(uint64_t seed, Graph& graph) : random_(Key::from_seed(seed)), graph_(graph) {}

  void build(int64_t size) {
    for (int i = 0; i < 3; ++i) {
      values_.push_back(graph_.input(fmt::format("state{}", i), {DType::kF32, kMatrix}, true));
    }
    values_.push_back(graph_.input("row state", {DType::kF32, kRow}, true));
    values_.push_back(graph_.input("feed", {DType::kF32, kMatrix}));
    values_.push_back(graph_.input("row feed", {DType::kF32, kRow}));
    for (int64_t i = 0; i < size; ++i) add_call();
    for (size_t i = 0; i < 4; ++i) {
      if (below(4) != 0) graph_.update(values_[i], any(values_[i].shape()));
    }
    const uint64_t outputs = 1 + below(4);
    for (uint64_t i = 0; i < outputs; ++i) {
      graph_.output(fmt::format("output{}", i), values_[below(values_.size())]);
    }
  }

 private:
  size_t below(size_t n) { return static_cast<size_t>(random_.below(n)); }

  // A value of the shape, recent ones more often: old ones then die, and buffers are reused.
  Value any(const Shape& shape) {
    std::vector<Value> found;
    for (const Value& value : values_) {
      if (value.shape() == shape) found.push_back(value);
    }
    if (found.empty()) found.push_back(constant(graph_, 0.25, DType::kF32, shape));
    const size_t recent = std::min<size_t>(found.size(), 3);
    return below(3) == 0 ? found[below(found.size())] : found[found.size() - 1 - below(recent)];
  }

  void add(const std::vector<Value>& made) {
    values_.insert(values_.end(), made.begin(), made.end());
  }

  void add_call() {
    const Shape shape = below(4) == 0 ? kFlat : kMatrix;
    switch (below(14)) {
      case 0: return add({neg(any(shape))});
      case 1: return add({tanh(any(shape))});
      case 2: return add({headwater::add(any(shape), any(shape))});
      case 3: return add({sub(any(shape), any(shape))});
      case 4: return add({tanh(mul(any(shape), any(shape)))});
      case 5: return add({maximum(any(shape), any(kMatrix == shape ? kRow : shape))});
      case 6: return add_view();
      case 7: return add({reduce_sum(any(kMatrix), {0}), reduce_sum(any(kMatrix), {1})});
      case 8: return add({transpose(any(kMatrix), {1, 0}), transpose(any(kTurned), {1, 0})});
      case 9: return add_select(shape);
      case 10:
        return add({graph_.call1(op::gelu_grad, {any(shape), any(shape)},
                                 {{"form", std::string("erf")}})});
      case 11: return add_layer_norm();
      case 12: return add_adam(below(2) == 0 ? kRow : kMatrix);
      default:
        return add({concat(
            {slice(any(kMatrix), {3, 0}, {6, 8}), slice(any(kMatrix), {0, 0}, {3, 8})}, 0)});
    }
  }

  void add_view() {
    switch (below(5)) {
      case 0: return add({reshape(any(kMatrix), kFlat)});
      case 1: return add({reshape(any(kFlat), kMatrix)});
      case 2: return add({reshape(any(kMatrix), kTurned)});
      case 3: return add(barrier({any(kMatrix), any(kRow), any(kMatrix)}));
      default: return add({stop_gradient(any(kMatrix))});
    }
  }

  void add_select(const Shape& shape) {
    const Value condition = compare(any(shape), any(shape), Direction::kLess);
    add({select(condition, any(shape), any(shape))});
  }

  void add_layer_norm() {
    const std::vector<Value> y =
        graph_.call(op::layer_norm, {any(kMatrix), any(kRow), any(kRow)}, {{"eps", 1e-5}});
    add(y);
    add({graph_.call(op::layer_norm_grad, {any(kMatrix), any(kRow), y[1], y[2], any(kMatrix)})});
  }

  void add_adam(const Shape& shape) {
    const Value second = any(shape);
    const AdamUpdate updated =
        adam_update(any(shape), any(shape), mul(second, second), any(shape), constant(graph_, 0.5),
                    constant(graph_, 0.01), {.weight_decay = 0.1});
    add({updated.weight, tanh(updated.m), updated.v});
  }

  RandomStream random_;
  Graph& graph_;
  std::vector<Value> values_;
};

}  // namespace

void build_random_graph(uint64_t seed, int64_t size, Graph& graph) {
  RandomGraph(seed, graph).build(size);
}

Tensors random_tensors(const Graph& graph, uint64_t seed) {
  RandomStream random(Key::from_seed(seed));
  Tensors tensors;
  for (const GraphInput& input : graph.inputs()) {
    Tensor tensor(input.value.dtype(), input.value.shape());
    for (float& x : tensor.as<float>()) x = 2 * random.uniform() - 1;
    tensors[input.name] = std::move(tensor);
  }
  return tensors;
}

Evaluation evaluate_by_the_book(const Graph& graph, const Tensors& feeds, const Tensors& states) {
  Graph lowered;
  decompose(graph, lowered, [](const Op& op) { return op.cpu != nullptr; });
  flush_denormals();  // as the executor does
  std::vector<std::vector<Tensor>> values;
  const auto tensor_of = [&](Value v) -> const Tensor& {
    return values[static_cast<size_t>(v.node())][static_cast<size_t>(v.output())];
  };
  for (const Node& node : lowered.nodes()) {
    std::vector<Tensor>& results = values.emplace_back();
    if (node.op == &kInputOp) {
      const GraphInput& input = *lowered.find_input(node.attrs.get_text("name"));
      results.push_back((input.is_state ? states : feeds).at(input.name));
      continue;
    }
    std::vector<const Type*> types;
    std::vector<const uint8_t*> inputs;
    std::vector<uint8_t*> outputs;
    for (const Value& input : node.inputs) {
      types.push_back(&input.type());
      inputs.push_back(tensor_of(input).data());
    }
    for (const Type& type : node.outputs) results.emplace_back(type.dtype, type.shape);
    for (Tensor& result : results) outputs.push_back(result.data());
    AlignedBuffer workspace(node.op->workspace == nullptr ? 0 : node.op->workspace(node, types));
    node.op->cpu(KernelContext(node, types, inputs, outputs,
                               {workspace.data(), static_cast<size_t>(workspace.size())}));
  }
  Evaluation result{{}, states};
  for (const GraphOutput& output : lowered.outputs()) {
    result.outputs[output.name] = tensor_of(output.value);
  }
  for (const StateUpdate& update : lowered.updates()) {
    result.states[lowered.input_of(update.input)->name] = tensor_of(update.value);
  }
  return result;
}

}  // namespace headwater
