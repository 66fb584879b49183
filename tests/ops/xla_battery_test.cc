// The battery on XLA, through a CPU plugin: every operator on its samples, forward and gradient,
// gives the native executor's numbers. Many calls are one program, as a compilation costs more than
// a run.
#include <gtest/gtest.h>

#include <limits>
#include <optional>

#include "base/threads.h"
#include "executors/pjrt/stablehlo_writer.h"
#include "executors/plugins.h"
#include "ops/battery.h"
#include "ops/gradient.h"
#include "ops/ops.h"
#include "ops/registry.h"

namespace headwater {
namespace {

constexpr uint64_t kSeed = 20261201;
constexpr double kTolerance = 1e-5;  // of the tensor's largest magnitude
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

class OnXla : public testing::Test {
 protected:
  void SetUp() override {
    HW_SKIP_WITHOUT_WHEEL(pjrt::kCpuWheels[0]);
    client_ = pjrt::open_client(pjrt::kCpuWheels[0], 4);
    set_num_threads(1);
  }
  void TearDown() override { set_num_threads(0); }

  // Outputs [replica][output] of a graph without state; inputs [replica][input].
  std::vector<std::vector<Tensor>> on_xla(const Graph& graph,
                                          const std::vector<std::vector<Tensor>>& inputs,
                                          bool mixed_bf16 = false) const {
    const auto num_replicas = static_cast<int64_t>(inputs.size());
    return pjrt::run_text(
        *client_, stablehlo_text(graph, {.num_replicas = num_replicas, .mixed_bf16 = mixed_bf16}),
        inputs);
  }

  void expect_native_values(const Graph& graph, const std::vector<Tensor>& inputs) const {
    const std::vector<Tensor> expected = run_graph(graph, inputs);
    const std::vector<Tensor> found = on_xla(graph, {inputs})[0];
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_TRUE(is_close(found[i], expected[i], kTolerance)) << graph.outputs()[i].name;
    }
  }

  std::optional<pjrt::Client> client_;
};

// Adds a graph to another, with `prefix` before the names of its inputs and outputs.
void add_graph(const Graph& from, const std::string& prefix, Graph& into) {
  std::vector<std::vector<Value>> copies;
  for (const Node& node : from.nodes()) {
    if (node.op == &kInputOp) {
      copies.push_back({into.input(prefix + node.attrs.get_text("name"), node.outputs[0])});
      continue;
    }
    std::vector<Value> inputs;
    for (const Value& input : node.inputs) {
      inputs.push_back(
          copies[static_cast<size_t>(input.node())][static_cast<size_t>(input.output())]);
    }
    copies.push_back(into.call(*node.op, std::move(inputs), node.attrs));
  }
  for (const GraphOutput& output : from.outputs()) {
    const Value value = output.value;
    into.output(prefix + output.name,
                copies[static_cast<size_t>(value.node())][static_cast<size_t>(value.output())]);
  }
}

TEST_F(OnXla, EveryOperatorIsTheNativeOne) {
  Graph all;
  std::vector<Tensor> inputs;
  for (const Op* op : all_ops()) {
    int index = 0;
    for (const Call& call : calls_of(*op)) {
      if (!call.is_own) continue;
      const GradientGraph gradient = gradient_graph(call, false);
      for (Tensor& tensor : random_inputs(*gradient.graph, call.sample, kSeed)) {
        inputs.push_back(std::move(tensor));
      }
      add_graph(*gradient.graph, fmt::format("{} {} ", call.text(), index++), all);
    }
  }
  expect_native_values(all, inputs);
}

TEST_F(OnXla, EdgeValues) {
  const std::vector<float> edges = {kNaN, kInf,  -kInf, 0.0f,  -0.0f, 1.0f,  -1.0f, 0.5f,
                                    3e9f, -3e9f, 5e9f,  -2.5f, 2.7f,  1e30f, 88.0f, -100.0f};
  const auto n = static_cast<int64_t>(edges.size());
  Graph graph;
  const Value x = graph.input("x", {DType::kF32, {n}});
  const Value a = broadcast(x, {n, n}, {0}), b = broadcast(x, {n, n}, {1});
  const auto add = [&](const std::string& name, Value value) { graph.output(name, value); };
  for (const Op* op : {&op::neg, &op::abs, &op::exp, &op::log, &op::log1p, &op::sqrt, &op::rsqrt,
                       &op::tanh, &op::erf, &op::logistic}) {
    add(std::string(op->name), graph.call1(*op, {x}));
  }
  for (const Op* op : {&op::add, &op::sub, &op::mul, &op::div}) {
    add(std::string(op->name), graph.call1(*op, {a, b}));
  }
  // XLA on the CPU may lose a NaN in a maximum, so these get none.
  const Value numbers = slice(x, {1}, {n}), p = broadcast(numbers, {n - 1, n - 1}, {0}),
              q = broadcast(numbers, {n - 1, n - 1}, {1});
  add("maximum", maximum(p, q));
  add("minimum", minimum(p, q));
  add("largest", reduce_max(p, {0}));
  for (int i = 0; i <= 5; ++i) {
    add(fmt::format("compare {}", i), compare(a, b, static_cast<Direction>(i)));
  }
  add("to i32", convert(x, DType::kI32));
  add("to u32", convert(x, DType::kU32));
  add("argmax", argmax(a, 0));
  add("argmax of all", argmax(b, 1));
  add("largest of nothing", reduce_max(slice(x, {0}, {0}), {0}));
  expect_native_values(graph, {Tensor::f32({n}, edges)});
}

TEST_F(OnXla, EdgeValuesOfIntegers) {
  const std::vector<int32_t> edges = {0,
                                      1,
                                      -1,
                                      7,
                                      -7,
                                      31,
                                      32,
                                      33,
                                      std::numeric_limits<int32_t>::max(),
                                      std::numeric_limits<int32_t>::min()};
  const auto n = static_cast<int64_t>(edges.size());
  Graph graph;
  const Value i = graph.input("i", {DType::kI32, {n}}), u = graph.input("u", {DType::kU32, {n}});
  for (const Value& x : {i, u}) {
    const Value a = broadcast(x, {n, n}, {0}), b = broadcast(x, {n, n}, {1});
    const std::string_view type = dtype_name(x.dtype());
    for (const Op* op : {&op::add, &op::sub, &op::mul, &op::div, &op::maximum, &op::minimum}) {
      graph.output(fmt::format("{} {}", op->name, type), graph.call1(*op, {a, b}));
    }
    graph.output(fmt::format("{} to f32", type), convert(x, DType::kF32));
    graph.output(fmt::format("{} less", type), compare(a, b, Direction::kLess));
  }
  const Value a = broadcast(u, {n, n}, {0}), b = broadcast(u, {n, n}, {1});
  graph.output("left", shift_left(a, b));
  graph.output("right", shift_right(a, b));
  const Value table = constant(graph, 1, DType::kF32, {3, 2});
  const Value rows = mul(table, convert(iota(graph, DType::kI32, {3, 2}, 0), DType::kF32));
  graph.output("rows", gather_rows(rows, i));
  graph.output("sums", scatter_add_rows(i, gather_rows(rows, i), 8));
  Tensor words(DType::kU32, {n});
  for (size_t k = 0; k < edges.size(); ++k)
    words.as<uint32_t>()[k] = static_cast<uint32_t>(edges[k]);
  expect_native_values(graph, {Tensor::i32({n}, edges), words});
}

// What has random bits, for `rows` of a batch.
void add_random_operators(Graph& graph, int64_t rows) {
  const Value key = graph.input("key", {DType::kU32, {2}});
  const Value x = graph.input("x", {DType::kF32, {rows, 6}});
  const Value mask = constant(graph, 1, DType::kI32, {rows, 5});
  const Value h = broadcast(x, {rows, 5, 6}, {0, 2});
  const Value table = constant(graph, 0.5, DType::kF32, {11, 6});
  const Value targets = constant(graph, 3, DType::kI32, {rows});
  const Value context = attention(h, h, h, mask, key, {.num_heads = 2, .dropout_rate = 0.3});
  const Value bias = constant(graph, 0, DType::kF32, {11});
  graph.output("bits", random_bits(key, {rows, 3}));
  graph.output("dropout", dropout(x, key, 0.4, 7));
  graph.output("attention", context);
  graph.output("gradient", gradients(sum_all(mul(context, dropout(h, key, 0.4, 7))), {x})[0]);
  graph.output("samples", vocab_cross_entropy(x, table, bias, targets, key, {.site = 4}).sample);
}

// Rows [first, first + count).
Tensor rows_of(const Tensor& whole, int64_t first, int64_t count) {
  Shape shape = whole.shape();
  const int64_t row_bytes = whole.byte_size() / shape[0];
  shape[0] = count;
  Tensor rows(whole.dtype(), shape);
  std::copy_n(whole.data() + first * row_bytes, rows.byte_size(), rows.data());
  return rows;
}

TEST_F(OnXla, ReplicasDrawTheBitsOfTheWholeBatch) {
  constexpr int64_t kRows = 8;
  Graph whole;
  add_random_operators(whole, kRows);
  const std::vector<Tensor> inputs =
      random_inputs(whole, {.inputs = {}, .index_bound = 1 << 30}, kSeed);
  const std::vector<Tensor> expected = run_graph(whole, inputs);
  for (const int64_t num_replicas : {1, 2, 4}) {
    const int64_t rows = kRows / num_replicas;
    Graph share;
    add_random_operators(share, rows);
    std::vector<std::vector<Tensor>> dealt;
    for (int64_t r = 0; r < num_replicas; ++r)
      dealt.push_back({inputs[0], rows_of(inputs[1], r * rows, rows)});
    const auto found = on_xla(share, dealt);
    for (int64_t r = 0; r < num_replicas; ++r) {
      for (size_t i = 0; i < expected.size(); ++i) {
        EXPECT_TRUE(is_close(found[static_cast<size_t>(r)][i], rows_of(expected[i], r * rows, rows),
                             kTolerance))
            << whole.outputs()[i].name << ", replica " << r << " of " << num_replicas;
      }
    }
  }
}

TEST_F(OnXla, ReplicasSumUp) {
  Graph graph;
  const Value x = graph.input("x", {DType::kF32, {2}});
  graph.output("sum", all_reduce(mul(x, x)));
  graph.output("count", all_reduce(constant(graph, 1, DType::kI32)));
  graph.output("replica", replica_id(graph));
  graph.output("gradient", gradients(all_reduce(sum_all(mul(x, x))), {x})[0]);
  const auto vector = [](float a, float b) { return Tensor::f32({2}, std::vector<float>{a, b}); };
  const auto found = on_xla(graph, {{vector(1, 2)}, {vector(3, 4)}});
  for (uint32_t r = 0; r < 2; ++r) {
    const auto& of_replica = found[r];
    EXPECT_TRUE(is_close(of_replica[0], vector(10, 20), 0));
    EXPECT_EQ(of_replica[1].as<int32_t>()[0], 2);
    EXPECT_EQ(of_replica[2].as<uint32_t>()[0], r);
    EXPECT_TRUE(is_close(of_replica[3], r == 0 ? vector(2, 4) : vector(6, 8), 0));
  }
}

// Products alone are rounded: to 8 bits of mantissa, with exact sums.
TEST_F(OnXla, MixedPrecisionRoundsProductsOnly) {
  Graph graph;
  const Value x = graph.input("x", {DType::kF32, {8, 64}}),
              w = graph.input("w", {DType::kF32, {64, 4}});
  graph.output("product", dot(x, w));
  graph.output("sum", reduce_sum(x, {1}));
  const std::vector<Tensor> inputs = random_inputs(graph, {.inputs = {}, .low = 0.1, .high = 1}, 2);
  const auto full = on_xla(graph, {inputs})[0];
  const auto mixed = on_xla(graph, {inputs}, true)[0];
  EXPECT_FALSE(is_close(mixed[0], full[0], 1e-5));
  EXPECT_TRUE(is_close(mixed[0], full[0], 5e-3));
  EXPECT_TRUE(is_close(mixed[1], full[1], 1e-6));
}

}  // namespace
}  // namespace headwater
