// Properties of every operator, on its samples: see battery.h. A new operator gets these tests from
// its record.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "base/threads.h"
#include "base/threefry.h"
#include "executors/pjrt/stablehlo_writer.h"
#include "kernels/isa.h"
#include "ops/battery.h"
#include "ops/registry.h"

namespace headwater {
namespace {

constexpr uint64_t kSeed = 20240607;
// Relative to the largest magnitude of the tensor: two orders of summation, two forms of exp. Sums
// of hundreds of terms are off by more.
constexpr double kTolerance = 4e-6;
constexpr double kLargeTolerance = 2e-5;

class Operators : public testing::TestWithParam<const Op*> {
 protected:
  // Tests run beside each other; where threads matter a test sets them.
  void SetUp() override { set_num_threads(1); }
  void TearDown() override { set_num_threads(0); }

  // Calls whose operands may be any values.
  static std::vector<Call> own_calls() {
    std::vector<Call> calls = calls_of(*GetParam());
    std::erase_if(calls, [](const Call& call) { return !call.is_own; });
    return calls;
  }
};

INSTANTIATE_TEST_SUITE_P(Battery, Operators, testing::ValuesIn(all_ops().begin(), all_ops().end()),
                         [](const auto& tested) { return std::string(tested.param->name); });

int64_t largest_tensor(const Graph& graph) {
  int64_t largest = 0;
  for (const Node& node : graph.nodes()) {
    for (const Type& type : node.outputs) largest = std::max(largest, type.size());
  }
  return largest;
}

// The call with extents so large that several threads share it, or nothing where its extents
// cannot be scaled alike.
std::optional<Call> large(const Call& call) {
  for (int64_t factor = 2; factor < 100000; factor += 1 + factor / 3) {
    const Call larger = scaled(call, factor);
    try {
      if (largest_tensor(*forward_graph(larger)) > 40000) return larger;
    } catch (const GraphError&) {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

struct Trial {
  Call call;
  double tolerance;
};

// The calls as they are and enlarged.
std::vector<Trial> with_large(const std::vector<Call>& calls) {
  std::vector<Trial> all;
  for (const Call& call : calls) {
    all.push_back({call, kTolerance});
    if (std::optional<Call> larger = large(call)) all.push_back({*larger, kLargeTolerance});
  }
  return all;
}

std::unique_ptr<Graph> decomposed(const Graph& graph) {
  auto primitives = std::make_unique<Graph>();
  decompose(graph, *primitives);
  return primitives;
}

void expect_close(const std::vector<Tensor>& actual, const std::vector<Tensor>& expected,
                  const Graph& graph, double tolerance = kTolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    EXPECT_TRUE(is_close(actual[i], expected[i], tolerance)) << graph.outputs()[i].name;
  }
}

// Kernels, of the operator and of its gradient, against their definition in primitives.
TEST_P(Operators, FusedEqualsDecomposed) {
  for (const auto& [call, tolerance] : with_large(own_calls())) {
    SCOPED_TRACE(call.text());
    const GradientGraph fused = gradient_graph(call, false);
    const std::vector<Tensor> inputs = random_inputs(*fused.graph, call.sample, kSeed);
    const std::vector<Tensor> expected = run_graph(*decomposed(*fused.graph), inputs);
    for (const kernels::Isa isa : kernels::supported_isas()) {
      SCOPED_TRACE(kernels::isa_name(isa));
      kernels::set_max_isa(isa);
      expect_close(run_graph(*fused.graph, inputs), expected, *fused.graph, tolerance);
    }
    kernels::set_max_isa(kernels::supported_isas().back());
  }
}

TEST_P(Operators, GradientEqualsThatOfTheDecomposition) {
  for (const auto& [call, tolerance] : with_large(own_calls())) {
    if (call.op->decompose == nullptr || !has_f32_operand(call)) continue;
    SCOPED_TRACE(call.text());
    const GradientGraph own = gradient_graph(call, false), of_parts = gradient_graph(call, true);
    const std::vector<Tensor> inputs = random_inputs(*own.graph, call.sample, kSeed + 1);
    expect_close(run_graph(*own.graph, inputs), run_graph(*of_parts.graph, inputs), *own.graph,
                 tolerance);
  }
}

// The loss sum_j <d_j, y_j> of which a gradient graph has the gradients.
double loss_of(const GradientGraph& gradient, const std::vector<Tensor>& outputs,
               const std::vector<Tensor>& inputs, size_t num_operands) {
  double loss = 0;
  for (size_t k = 0; k < gradient.differentiated_outputs.size(); ++k) {
    const auto y = outputs[gradient.differentiated_outputs[k]].as<float>();
    const auto d = inputs[num_operands + k].as<float>();
    for (size_t i = 0; i < y.size(); ++i) loss += double{y[i]} * double{d[i]};
  }
  return loss;
}

void check_numeric_gradient(const Call& call) {
  const GradientGraph gradient = gradient_graph(call, false);
  const size_t num_operands = call.sample.inputs.size();
  CompiledGraph run(*gradient.graph);
  std::vector<Tensor> inputs = random_inputs(*gradient.graph, call.sample, kSeed + 2);
  const std::vector<Tensor> outputs = run(inputs);
  const size_t first_gradient = outputs.size() - gradient.differentiated_inputs.size();
  const auto central_difference = [&](float& x, double h) {
    const float old = x, above = static_cast<float>(old + h), below = static_cast<float>(old - h);
    x = above;
    const double up = loss_of(gradient, run(inputs), inputs, num_operands);
    x = below;
    const double down = loss_of(gradient, run(inputs), inputs, num_operands);
    x = old;
    return (up - down) / (double{above} - double{below});
  };
  const double h = (call.sample.high - call.sample.low) / 100;
  for (size_t k = 0; k < gradient.differentiated_inputs.size(); ++k) {
    const size_t operand = gradient.differentiated_inputs[k];
    const auto expected = outputs[first_gradient + k].as<float>();
    for (size_t i = 0; i < expected.size(); ++i) {
      float& x = inputs[operand].as<float>()[i];
      // Richardson's extrapolation takes the error of order h^2 away.
      const double numeric = (4 * central_difference(x, h / 2) - central_difference(x, h)) / 3;
      EXPECT_NEAR(expected[i], numeric, 5e-4 * std::max(1.0, std::fabs(numeric)))
          << "operand " << operand << ", element " << i;
    }
  }
}

TEST_P(Operators, NumericGradient) {
  for (const Call& call : own_calls()) {
    if (!call.sample.differentiable || !has_f32_operand(call)) continue;
    SCOPED_TRACE(call.text());
    check_numeric_gradient(call);
  }
}

// Primitives can be written for other executors, and fused operators come apart into primitives.
TEST_P(Operators, HasAStableHloFormOrADecomposition) {
  EXPECT_NE(GetParam()->stablehlo == nullptr, GetParam()->decompose == nullptr);
  for (const Call& call : calls_of(*GetParam())) {
    SCOPED_TRACE(call.text());
    EXPECT_NO_THROW(stablehlo_text(*gradient_graph(call, false).graph));
  }
}

TEST_P(Operators, PrintsAndParses) {
  for (const Call& call : calls_of(*GetParam())) {
    SCOPED_TRACE(call.text());
    const GradientGraph gradient = gradient_graph(call, false);
    const std::string text = print_graph(*gradient.graph);
    Graph read;
    parse_graph(text, find_op, read);
    EXPECT_EQ(print_graph(read), text);
    EXPECT_NO_THROW(verify(read));
  }
}

// Where a finite change of an element changes an output, a NaN must make it NaN. Integer and truth
// value outputs cannot carry one.
void check_nan_propagation(const Graph& graph, const Call& call) {
  CompiledGraph run(graph);
  std::vector<Tensor> inputs = random_inputs(graph, call.sample, kSeed + 3);
  const std::vector<Tensor> base = run(inputs);
  const double width = call.sample.high - call.sample.low;
  for (size_t operand = 0; operand < inputs.size(); ++operand) {
    if (inputs[operand].dtype() != DType::kF32) continue;
    const size_t size = inputs[operand].as<float>().size();
    for (size_t i = 0; i < size; i += 1 + size / 5) {
      float& x = inputs[operand].as<float>()[i];
      const float old = x;
      x = std::numeric_limits<float>::quiet_NaN();
      const std::vector<Tensor> of_nan = run(inputs);
      for (const double change : {width, -0.37 * width}) {
        x = static_cast<float>(old + change);
        const std::vector<Tensor> changed = run(inputs);
        for (size_t j = 0; j < base.size(); ++j) {
          if (base[j].dtype() != DType::kF32) continue;
          for (size_t e = 0; e < base[j].as<float>().size(); ++e) {
            if (base[j].as<float>()[e] == changed[j].as<float>()[e]) continue;
            EXPECT_TRUE(std::isnan(of_nan[j].as<float>()[e]))
                << "NaN in operand " << operand << ", element " << i << ": output " << j
                << ", element " << e << " is " << of_nan[j].as<float>()[e];
          }
        }
      }
      x = old;
    }
  }
}

TEST_P(Operators, NaNReachesTheOutput) {
  for (const Call& call : own_calls()) {
    if (!has_f32_operand(call)) continue;
    SCOPED_TRACE(call.text());
    const std::unique_ptr<Graph> graph = forward_graph(call);
    check_nan_propagation(*graph, call);
    if (call.op->decompose != nullptr) check_nan_propagation(*decomposed(*graph), call);
  }
}

std::set<int64_t> extents_of(const Call& call) {
  std::set<int64_t> extents;
  for (const Type& type : call.sample.inputs) extents.insert(type.shape.begin(), type.shape.end());
  for (const auto& [name, value] : call.sample.attrs.all()) {
    const auto* list = std::get_if<std::vector<int64_t>>(&value);
    if (name == "shape" && list != nullptr) extents.insert(list->begin(), list->end());
  }
  return extents;
}

// An axis of no elements either is refused or works, with gradients.
TEST_P(Operators, EmptyOperands) {
  for (const Call& call : calls_of(*GetParam())) {
    for (const int64_t extent : extents_of(call)) {
      const Call empty = with_extent(call, extent, 0);
      SCOPED_TRACE(empty.text());
      std::unique_ptr<Graph> forward;
      try {
        forward = forward_graph(empty);
      } catch (const GraphError&) {
        continue;
      }
      const GradientGraph gradient = gradient_graph(empty, false);
      const Graph& graph = *gradient.graph;
      const std::vector<Tensor> inputs = random_inputs(graph, empty.sample, kSeed);
      const std::vector<Tensor> outputs = run_graph(graph, inputs);
      for (size_t j = 0; j < outputs.size(); ++j) {
        EXPECT_EQ((Type{outputs[j].dtype(), outputs[j].shape()}), graph.outputs()[j].value.type());
      }
      if (empty.is_own) expect_close(outputs, run_graph(*decomposed(graph), inputs), graph);
    }
  }
}

TEST_P(Operators, ThreadsDoNotChangeTheResult) {
  for (const auto& [call, tolerance] : with_large(own_calls())) {
    SCOPED_TRACE(call.text());
    const GradientGraph gradient = gradient_graph(call, false);
    const std::vector<Tensor> inputs = random_inputs(*gradient.graph, call.sample, kSeed + 4);
    std::vector<Tensor> of_one;
    for (const int threads : {1, 2, 3}) {
      set_num_threads(threads);
      const std::vector<Tensor> outputs = run_graph(*gradient.graph, inputs);
      if (threads == 1) of_one = outputs;
      for (size_t j = 0; j < outputs.size(); ++j) {
        EXPECT_TRUE(std::ranges::equal(outputs[j].bytes(), of_one[j].bytes()))
            << "output " << j << " on " << threads << " threads";
      }
    }
  }
}

using Pairs = std::vector<std::pair<int, int>>;

// The outputs of the operator's kernel where, for each pair (output, operand), the output is
// written over the operand.
std::vector<Tensor> run_kernel(const Node& node, std::vector<Tensor> operands, const Pairs& over) {
  std::vector<const Type*> types;
  std::vector<const uint8_t*> inputs;
  std::vector<Tensor> results;
  std::vector<uint8_t*> outputs;
  for (size_t i = 0; i < operands.size(); ++i) {
    types.push_back(&node.inputs[i].type());
    inputs.push_back(operands[i].data());
  }
  for (const Type& type : node.outputs) {
    results.emplace_back(type.dtype, type.shape);
    outputs.push_back(results.back().data());
  }
  for (const auto& [out, in] : over) {
    outputs[static_cast<size_t>(out)] = operands[static_cast<size_t>(in)].data();
  }
  AlignedBuffer workspace(node.op->workspace == nullptr ? 0 : node.op->workspace(node, types));
  node.op->cpu(KernelContext(node, types, inputs, outputs,
                             {workspace.data(), static_cast<size_t>(workspace.size())}));
  for (const auto& [out, in] : over) {
    results[static_cast<size_t>(out)] = operands[static_cast<size_t>(in)];
  }
  return results;
}

// What the record says may be written over: each pair alone, and the first of each output together.
std::vector<Pairs> ways_in_place(const Op& op) {
  std::vector<Pairs> ways;
  Pairs together;
  for (const auto& pair : op.in_place) {
    ways.push_back({pair});
    const auto same = [&](const auto& other) { return other.first == pair.first; };
    if (std::none_of(together.begin(), together.end(), same)) together.push_back(pair);
  }
  ways.push_back(together);
  return ways;
}

TEST_P(Operators, InPlaceGivesTheSame) {
  if (GetParam()->cpu == nullptr) return;
  for (const auto& [call, tolerance] : with_large(own_calls())) {
    SCOPED_TRACE(call.text());
    const std::unique_ptr<Graph> graph = forward_graph(call);
    const std::vector<Tensor> inputs = random_inputs(*graph, call.sample, kSeed + 5);
    const Node& node = graph->nodes().back();
    const std::vector<Tensor> expected = run_kernel(node, inputs, {});
    for (const Pairs& over : ways_in_place(*call.op)) {
      const std::vector<Tensor> results = run_kernel(node, inputs, over);
      for (size_t j = 0; j < results.size(); ++j) {
        EXPECT_TRUE(std::ranges::equal(results[j].bytes(), expected[j].bytes()))
            << "output " << j << ", over operand " << over.front().second;
      }
    }
  }
}

// No operator escapes: each occurs in the graphs that the tests above run.
TEST(Battery, ExercisesEveryOperator) {
  std::set<const Op*> seen;
  for (const Op* op : all_ops()) {
    EXPECT_FALSE(calls_of(*op).empty()) << op->name << " has no samples";
    for (const Call& call : calls_of(*op)) {
      if (call.is_own) seen.merge(operators_in(*gradient_graph(call, false).graph));
    }
  }
  for (const Op* op : all_ops()) EXPECT_TRUE(seen.contains(op)) << op->name;
}

TEST(Battery, EveryOperatorCanRunAndBeDifferentiated) {
  for (const Op* op : all_ops()) {
    EXPECT_NE(op->infer, nullptr) << op->name;
    EXPECT_TRUE(op->cpu != nullptr || op->decompose != nullptr) << op->name;
    EXPECT_EQ(find_op(op->name), op);
  }
  EXPECT_EQ(find_op("no_such_operator"), nullptr);
}

}  // namespace
}  // namespace headwater
