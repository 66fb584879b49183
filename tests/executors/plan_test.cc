// The memory plan: a run in shared buffers gives what a run in separate ones gives, and the plan
// itself holds together.
#include "executors/cpu/plan.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/checked.h"
#include "executors/executor.h"
#include "executors/random_graph.h"
#include "graph/op.h"
#include "ops/ops.h"
#include "ops/registry.h"
#include "ops/run_graph.h"

namespace headwater {
namespace {

using Kind = PlannedBuffer::Kind;

bool equal_bits_or_nan(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  if (std::ranges::equal(a.bytes(), b.bytes())) return true;
  if (a.dtype() != DType::kF32) return false;
  const auto x = a.as<float>(), y = b.as<float>();
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i] != y[i] && !(std::isnan(x[i]) && std::isnan(y[i]))) return false;
  }
  return true;
}

// Three runs, so that what one leaves behind can harm the next.
void expect_runs_by_the_book(const Graph& graph, uint64_t seed) {
  const auto executor = value_or_throw(Executor::open("cpu"));
  const auto store = executor->make_store();
  const auto program = value_or_throw(executor->compile(graph, *store));
  Tensors states = random_tensors(graph, seed);
  for (const GraphInput& input : graph.inputs()) {
    if (input.is_state) ok_or_throw(store->set(input.name, states.at(input.name)));
  }
  Tensors feeds;
  for (uint64_t run = 0; run < 3; ++run) {
    if (run != 1) {  // in the second run the feeds keep their values
      feeds = random_tensors(graph, seed + 1 + run);
      for (const GraphInput& input : graph.inputs()) {
        if (!input.is_state) ok_or_throw(program->feed(input.name, feeds.at(input.name)));
      }
    }
    const Evaluation expected = evaluate_by_the_book(graph, feeds, states);
    states = expected.states;
    ok_or_throw(program->run());
    for (const auto& [name, tensor] : expected.outputs) {
      EXPECT_TRUE(equal_bits_or_nan(value_or_throw(program->fetch(name)), tensor))
          << name << " of run " << run;
    }
    for (const GraphInput& input : graph.inputs()) {
      if (!input.is_state) continue;
      EXPECT_TRUE(equal_bits_or_nan(value_or_throw(store->get(input.name)), states.at(input.name)))
          << input.name << " after run " << run;
    }
  }
}

TEST(MemoryPlan, SharedBuffersGiveWhatSeparateOnesGive) {
  for (uint64_t seed = 0; seed < 400 && !HasFailure(); ++seed) {
    Graph graph;
    build_random_graph(seed, static_cast<int64_t>(seed % 40) + 1, graph);
    expect_runs_by_the_book(graph, seed);
    if (HasFailure()) ADD_FAILURE() << "seed " << seed << ":\n" << print_graph(graph);
  }
}

// The same without any fused operator.
TEST(MemoryPlan, SharedBuffersOfPrimitivesGiveWhatSeparateOnesGive) {
  for (uint64_t seed = 1000; seed < 1200 && !HasFailure(); ++seed) {
    Graph graph, primitives;
    build_random_graph(seed, static_cast<int64_t>(seed % 40) + 1, graph);
    decompose(graph, primitives);
    expect_runs_by_the_book(primitives, seed);
    if (HasFailure()) ADD_FAILURE() << "seed " << seed << ":\n" << print_graph(primitives);
  }
}

bool alive_together(const PlannedBuffer& a, const PlannedBuffer& b) {
  return a.first <= b.last && b.first <= a.last;
}

int64_t total_bytes(const MemoryPlan& plan) {
  int64_t total = 0;
  for (const PlannedBuffer& buffer : plan.buffers) {
    if (buffer.kind == Kind::kArena) total += round_up(buffer.bytes, 64);
  }
  return total;
}

void check_arena(const MemoryPlan& plan) {
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const PlannedBuffer& a = plan.buffers[i];
    if (a.kind != Kind::kArena) continue;
    EXPECT_EQ(a.offset % 64, 0);
    EXPECT_GE(a.offset, 0);
    EXPECT_LE(a.offset + a.bytes, plan.arena_bytes);
    EXPECT_LE(a.first, a.last);
    for (size_t j = 0; j < i; ++j) {
      const PlannedBuffer& b = plan.buffers[j];
      if (b.kind != Kind::kArena || !alive_together(a, b) || a.bytes == 0 || b.bytes == 0) continue;
      EXPECT_TRUE(a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset)
          << "buffers " << i << " and " << j;
    }
  }
  EXPECT_LE(plan.arena_bytes, total_bytes(plan));
}

// Every buffer is large enough for its values and lives as long as they are read.
void check_lives(const Graph& graph, const MemoryPlan& plan) {
  const auto buffer_of = [&](Value v) -> const PlannedBuffer& {
    const int32_t index =
        plan.buffer_of[static_cast<size_t>(v.node())][static_cast<size_t>(v.output())];
    return plan.buffers[static_cast<size_t>(index)];
  };
  for (size_t id = 0; id < graph.nodes().size(); ++id) {
    const Node& node = graph.nodes()[id];
    for (const Value& input : node.inputs) EXPECT_GE(buffer_of(input).last, static_cast<int>(id));
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const PlannedBuffer& buffer = plan.buffers[static_cast<size_t>(plan.buffer_of[id][i])];
      EXPECT_GE(buffer.bytes, node.outputs[i].byte_size());
      EXPECT_LE(buffer.first, static_cast<int>(id));
    }
  }
}

TEST(MemoryPlan, BuffersThatLiveTogetherDoNotOverlap) {
  for (uint64_t seed = 0; seed < 200 && !HasFailure(); ++seed) {
    Graph graph;
    build_random_graph(seed, static_cast<int64_t>(seed % 60) + 1, graph);
    const MemoryPlan plan = plan_memory(graph);
    check_arena(plan);
    check_lives(graph, plan);
    if (HasFailure()) ADD_FAILURE() << "seed " << seed << ":\n" << print_graph(graph);
  }
}

TEST(MemoryPlan, AChainOfElementwiseCallsNeedsOneBuffer) {
  Graph graph;
  Value x = graph.input("x", {DType::kF32, {100}});
  for (int i = 0; i < 20; ++i) x = exp(neg(x));
  graph.output("y", x);
  EXPECT_EQ(plan_memory(graph).arena_bytes, round_up(400, 64));
}

TEST(MemoryPlan, DeadBuffersAreUsedAgain) {
  Graph graph;
  Value x = graph.input("x", {DType::kF32, {8, 8}});
  for (int i = 0; i < 20; ++i) x = transpose(x, {1, 0}), x = dot(x, x);
  graph.output("y", x);
  const MemoryPlan plan = plan_memory(graph);
  check_arena(plan);
  EXPECT_LT(plan.arena_bytes, total_bytes(plan) / 5);
}

// Updates of all states by their own operator copy nothing and need no memory of their own.
TEST(MemoryPlan, AnOptimizerStepIsMadeInPlace) {
  Graph graph;
  const Type type{DType::kF32, {50}};
  const Value rate = graph.input("rate", {DType::kF32, {}});
  for (int i = 0; i < 3; ++i) {
    const Value w = graph.input(fmt::format("w{}", i), type, true),
                m = graph.input(fmt::format("m{}", i), type, true),
                v = graph.input(fmt::format("v{}", i), type, true);
    const AdamUpdate updated = adam_update(w, m, v, mul(w, w), rate, rate, {});
    graph.update(w, updated.weight);
    graph.update(m, updated.m);
    graph.update(v, updated.v);
  }
  const MemoryPlan plan = plan_memory(graph);
  EXPECT_TRUE(plan.copies.empty());
  EXPECT_EQ(plan.arena_bytes, round_up(200, 64));  // the squares, one after the other
}

TEST(MemoryPlan, InPlaceWorksOverEitherOperand) {
  Graph graph;
  const Value w = graph.input("w", {DType::kF32, {50}}, true);
  const Value x = graph.input("x", {DType::kF32, {50}});
  graph.update(w,
               sub(exp(x), w));  // the state is the second operand, the first one could be reused
  EXPECT_TRUE(plan_memory(graph).copies.empty());
}

// y[i] = a[i] + b[n - 1 - i]: y may be written over a, but not where b is a.
const Op kAddReversed = {.name = "add_reversed",
                         .infer = [](const InferContext& c) { return std::vector<Type>{c.in(0)}; },
                         .cpu =
                             [](const KernelContext& c) {
                               const int64_t n = c.out_type(0).size();
                               for (int64_t i = 0; i < n; ++i) {
                                 c.out<float>(0)[i] = c.in<float>(0)[i] + c.in<float>(1)[n - 1 - i];
                               }
                             },
                         .in_place = {{0, 0}}};

TEST(MemoryPlan, AnOperandThatIsReadAsAnotherOneTooIsNotWrittenOver) {
  Graph graph;
  const Value w = graph.input("w", {DType::kF32, {3}}, true);
  const Value x = exp(graph.input("x", {DType::kF32, {3}}));
  graph.output("same", graph.call1(kAddReversed, {x, x}));
  const Value y = neg(graph.input("z", {DType::kF32, {3}}));
  graph.output("view", graph.call1(kAddReversed, {y, stop_gradient(y)}));
  graph.update(w, graph.call1(kAddReversed, {w, stop_gradient(w)}));
  expect_runs_by_the_book(graph, 1);
}

// Either output may be written over the operand, but only one of them is.
const Op kHalves = {.name = "halves",
                    .infer =
                        [](const InferContext& c) {
                          return std::vector<Type>{c.in(0), c.in(0)};
                        },
                    .cpu =
                        [](const KernelContext& c) {
                          for (int64_t i = 0; i < c.out_type(0).size(); ++i) {
                            const float x = c.in<float>(0)[i];
                            c.out<float>(1)[i] = x / 4;
                            c.out<float>(0)[i] = x / 2;
                          }
                        },
                    .in_place = {{0, 0}, {1, 0}}};

TEST(MemoryPlan, OneBufferIsNotWrittenOverByTwoOutputs) {
  Graph graph;
  const std::vector<Value> y = graph.call(kHalves, {exp(graph.input("x", {DType::kF32, {5}}))});
  graph.output("quarter", y[1]);  // nobody reads the other one, but it is written
  expect_runs_by_the_book(graph, 1);
}

}  // namespace
}  // namespace headwater
