#include "ops/battery.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/threefry.h"
#include "ops/gradient.h"
#include "ops/registry.h"

namespace headwater {
namespace {

bool is_key(const Type& type) { return type == Type{DType::kU32, {2}}; }

// Attributes that hold extents, positions or counts along axes; others are axes or options.
const std::set<std::string, std::less<>> kShapeAttributes = {"shape", "start", "limit",
                                                             "low",   "high",  "num_rows"};

template <class F>
Call with_extents_mapped(Call call, F map) {
  for (Type& type : call.sample.inputs) {
    if (is_key(type)) continue;
    std::transform(type.shape.begin(), type.shape.end(), type.shape.begin(), map);
  }
  Attrs attrs = call.sample.attrs;
  for (const auto& [name, value] : call.sample.attrs.all()) {
    if (!kShapeAttributes.contains(name)) continue;
    if (const auto* list = std::get_if<std::vector<int64_t>>(&value)) {
      std::vector<int64_t> mapped;
      for (const int64_t extent : *list) mapped.push_back(map(extent));
      attrs.set(name, mapped);
    } else if (const auto* number = std::get_if<int64_t>(&value)) {
      attrs.set(name, map(*number));
    }
  }
  call.sample.attrs = attrs;
  return call;
}

std::vector<Value> add_inputs(Graph& graph, const Call& call) {
  std::vector<Value> values;
  for (size_t i = 0; i < call.sample.inputs.size(); ++i) {
    values.push_back(graph.input(fmt::format("x{}", i), call.sample.inputs[i]));
  }
  return values;
}

// Adds gradients of the given outputs; throws GraphError when one of them has none.
void add_gradients(Graph& graph, const std::vector<Value>& inputs,
                   const std::vector<Value>& outputs, GradientGraph& result) {
  std::vector<Value> used, output_grads, wrt;
  for (const size_t j : result.differentiated_outputs) {
    used.push_back(outputs[j]);
    output_grads.push_back(graph.input(fmt::format("d{}", j), outputs[j].type()));
  }
  for (const size_t i : result.differentiated_inputs) wrt.push_back(inputs[i]);
  const std::vector<Value> grads = pullback(used, output_grads, wrt);
  for (size_t i = 0; i < grads.size(); ++i) {
    graph.output(fmt::format("g{}", result.differentiated_inputs[i]), grads[i]);
  }
}

GradientGraph make_gradient_graph(const Call& call, bool decomposed, bool first_output_only) {
  GradientGraph result;
  result.graph = forward_graph(call);
  if (decomposed) {
    auto primitives = std::make_unique<Graph>();
    decompose(*result.graph, *primitives);
    result.graph = std::move(primitives);
  }
  Graph& graph = *result.graph;
  std::vector<Value> inputs, outputs;
  for (const GraphInput& input : graph.inputs()) {
    if (input.value.dtype() == DType::kF32) result.differentiated_inputs.push_back(inputs.size());
    inputs.push_back(input.value);
  }
  for (const GraphOutput& output : graph.outputs()) {
    const bool wanted =
        output.value.dtype() == DType::kF32 && (outputs.empty() || !first_output_only);
    if (wanted) result.differentiated_outputs.push_back(outputs.size());
    outputs.push_back(output.value);
  }
  add_gradients(graph, inputs, outputs, result);
  return result;
}

bool only_first_output_has_gradient(const Call& call) {
  try {
    make_gradient_graph(call, false, false);
    return false;
  } catch (const GraphError&) {
    return true;
  }
}

template <class T, class F>
void fill(Tensor& tensor, F next) {
  for (T& value : tensor.as<T>()) value = static_cast<T>(next());
}

void set_first_of_rows(Tensor& tensor, int32_t value) {
  if (tensor.shape().empty()) return;
  const auto all = tensor.as<int32_t>();
  for (size_t i = 0; i < all.size(); i += static_cast<size_t>(tensor.shape().back()))
    all[i] = value;
}

int64_t count_floats(const Graph& graph) {
  int64_t count = 0;
  for (const GraphInput& input : graph.inputs()) {
    if (input.value.dtype() == DType::kF32) count += input.value.type().size();
  }
  return count;
}

// 0 .. n-1 in random order (Fisher and Yates).
std::vector<int64_t> permutation(int64_t n, RandomStream& random) {
  std::vector<int64_t> order(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    const auto j = static_cast<size_t>(random.below(static_cast<uint64_t>(i + 1)));
    order[static_cast<size_t>(i)] = order[j];
    order[j] = i;
  }
  return order;
}

}  // namespace

std::string Call::text() const {
  std::string types;
  for (const Type& type : sample.inputs) types += (types.empty() ? "" : ", ") + type.text();
  return fmt::format("{}({}){}", op->name, types, sample.attrs.text());
}

std::vector<Call> calls_of(const Op& op) {
  std::vector<Call> calls;
  if (op.samples != nullptr) {
    for (const Sample& sample : op.samples()) calls.push_back({&op, sample});
    return calls;
  }
  for (const Op* other : all_ops()) {
    if (other->samples == nullptr || other->vjp == nullptr) continue;
    for (const Call& call : calls_of(*other)) {
      const GradientGraph gradient = gradient_graph(call, false);
      for (const Node& node : gradient.graph->nodes()) {
        if (node.op != &op) continue;
        Sample sample = call.sample;
        sample.attrs = node.attrs;
        sample.inputs.clear();
        for (const Value& input : node.inputs) sample.inputs.push_back(input.type());
        calls.push_back({&op, sample, /*is_own=*/false});
      }
    }
  }
  return calls;
}

Call scaled(const Call& call, int64_t factor) {
  return with_extents_mapped(call, [factor](int64_t extent) { return extent * factor; });
}

Call with_extent(const Call& call, int64_t from, int64_t to) {
  return with_extents_mapped(call, [=](int64_t extent) { return extent == from ? to : extent; });
}

std::unique_ptr<Graph> forward_graph(const Call& call) {
  auto graph = std::make_unique<Graph>();
  const std::vector<Value> outputs =
      graph->call(*call.op, add_inputs(*graph, call), call.sample.attrs);
  for (size_t j = 0; j < outputs.size(); ++j) graph->output(fmt::format("y{}", j), outputs[j]);
  return graph;
}

GradientGraph gradient_graph(const Call& call, bool decomposed) {
  return make_gradient_graph(call, decomposed, only_first_output_has_gradient(call));
}

bool has_f32_operand(const Call& call) {
  const auto& inputs = call.sample.inputs;
  return std::any_of(inputs.begin(), inputs.end(),
                     [](const Type& type) { return type.dtype == DType::kF32; });
}

std::vector<Tensor> random_inputs(const Graph& graph, const Sample& sample, uint64_t seed) {
  RandomStream random(Key::from_seed(seed));
  const int64_t count = count_floats(graph);
  const std::vector<int64_t> places = permutation(count, random);
  const double step = (sample.high - sample.low) / static_cast<double>(std::max<int64_t>(count, 1));
  size_t next_place = 0;
  const auto next_float = [&] {
    // In the middle half of its share.
    const double share = static_cast<double>(places[next_place++]) + 0.25 + 0.5 * random.uniform();
    return sample.low + step * share;
  };
  const auto next_index = [&] { return random.below(static_cast<uint64_t>(sample.index_bound)); };
  std::vector<Tensor> tensors;
  for (const GraphInput& input : graph.inputs()) {
    Tensor tensor(input.value.dtype(), input.value.shape());
    switch (tensor.dtype()) {
      case DType::kF32: fill<float>(tensor, next_float); break;
      case DType::kI32:
        fill<int32_t>(tensor, next_index);
        set_first_of_rows(tensor, static_cast<int32_t>(sample.index_bound - 1));
        break;
      case DType::kU32: fill<uint32_t>(tensor, next_index); break;
      default: fill<uint8_t>(tensor, [&] { return random.below(2); }); break;
    }
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

testing::AssertionResult is_close(const Tensor& actual, const Tensor& expected, double tolerance) {
  if (actual.dtype() != expected.dtype() || actual.shape() != expected.shape()) {
    return testing::AssertionFailure() << "other types";
  }
  if (actual.dtype() != DType::kF32) {
    if (std::ranges::equal(actual.bytes(), expected.bytes())) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "other bits";
  }
  const auto a = actual.as<float>(), b = expected.as<float>();
  double scale = 1;
  for (const float x : b) {
    if (std::isfinite(x)) scale = std::max(scale, std::fabs(double{x}));
  }
  for (size_t i = 0; i < a.size(); ++i) {
    const bool same = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])) ||
                      std::fabs(double{a[i]} - double{b[i]}) <= tolerance * scale;
    if (!same) {
      return testing::AssertionFailure() << "element " << i << " is " << a[i] << ", not " << b[i]
                                         << " (largest magnitude " << scale << ")";
    }
  }
  return testing::AssertionSuccess();
}

std::set<const Op*> operators_in(const Graph& graph) {
  std::set<const Op*> found;
  for (const Node& node : graph.nodes()) found.insert(node.op);
  return found;
}

}  // namespace headwater
