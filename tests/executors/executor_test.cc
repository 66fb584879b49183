// What executors promise: state, feeds, outputs, errors.
#include "executors/executor.h"

#include <gtest/gtest.h>

#include "base/threads.h"
#include "graph/op.h"
#include "ops/ops.h"
#include "ops/run_graph.h"

namespace headwater {
namespace {

using Floats = std::vector<float>;
const Type kPair{DType::kF32, {2}};

Tensor pair(float a, float b) { return Tensor::f32({2}, Floats{a, b}); }

Floats floats(const Result<Tensor>& tensor) {
  if (!tensor) return {};
  const auto span = tensor->as<float>();
  return {span.begin(), span.end()};
}

std::string error_text(const Result<>& result) {
  return result ? "no error" : result.error().to_string();
}

// A graph being built, then compiled against a store.
class Session {
 public:
  Session() : executor_(value_or_throw(Executor::open("cpu"))), store_(executor_->make_store()) {}

  Graph graph;
  Executor& executor() { return *executor_; }
  StateStore& store() { return *store_; }
  void compile() { program_ = value_or_throw(executor_->compile(graph, *store_)); }
  Program& program() { return *program_; }
  void run() { ok_or_throw(program_->run()); }
  void set(const std::string& name, const Tensor& tensor) {
    ok_or_throw(store_->set(name, tensor));
  }
  Floats state(const std::string& name) { return floats(store_->get(name)); }
  Floats output(const std::string& name) { return floats(program_->fetch(name)); }

 private:
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<StateStore> store_;
  std::unique_ptr<Program> program_;
};

TEST(State, IsUpdatedInPlaceRunAfterRun) {
  Session s;
  const Value w = s.graph.input("w", kPair, true), x = s.graph.input("x", kPair);
  s.graph.update(w, add(w, x));
  s.compile();
  s.set("w", pair(1, 2));
  ok_or_throw(s.program().feed("x", pair(10, 20)));
  s.run();
  s.run();
  EXPECT_EQ(s.state("w"), (Floats{21, 42}));
}

TEST(State, OfWhichTheOldValueIsReadLater) {
  Session s;
  const Value w = s.graph.input("w", kPair, true);
  const Value updated = add(w, constant(s.graph, 1));
  s.graph.update(w, updated);
  s.graph.output("product", mul(w, updated));
  s.graph.output("later", neg(reshape(w, {1, 2})));
  s.compile();
  s.set("w", pair(2, 3));
  s.run();
  EXPECT_EQ(s.output("product"), (Floats{6, 12}));
  EXPECT_EQ(s.output("later"), (Floats{-2, -3}));
  EXPECT_EQ(s.state("w"), (Floats{3, 4}));
}

TEST(State, MayBeSwapped) {
  Session s;
  const Value a = s.graph.input("a", kPair, true), b = s.graph.input("b", kPair, true);
  s.graph.update(a, b);
  s.graph.update(b, a);
  s.compile();
  s.set("a", pair(1, 2));
  s.set("b", pair(3, 4));
  s.run();
  EXPECT_EQ(s.state("a"), (Floats{3, 4}));
  EXPECT_EQ(s.state("b"), (Floats{1, 2}));
  s.run();
  EXPECT_EQ(s.state("a"), (Floats{1, 2}));
}

TEST(State, MayBeRotatedThroughViewsWhileOneIsUpdatedInPlace) {
  Session s;
  const Value a = s.graph.input("a", kPair, true), b = s.graph.input("b", kPair, true),
              c = s.graph.input("c", kPair, true), d = s.graph.input("d", kPair, true);
  s.graph.update(a, stop_gradient(b));
  s.graph.update(b, c);
  s.graph.update(c, reshape(reshape(a, {2, 1}), {2}));
  const Value next = neg(d);
  s.graph.update(d, next);
  s.graph.output("next", reshape(next, {2, 1}));
  s.graph.output("old a", reshape(a, {1, 2}));
  s.compile();
  s.set("a", pair(1, 1));
  s.set("b", pair(2, 2));
  s.set("c", pair(3, 3));
  s.set("d", pair(4, 4));
  s.run();
  EXPECT_EQ(s.state("a"), (Floats{2, 2}));
  EXPECT_EQ(s.state("b"), (Floats{3, 3}));
  EXPECT_EQ(s.state("c"), (Floats{1, 1}));
  EXPECT_EQ(s.state("d"), (Floats{-4, -4}));
  EXPECT_EQ(s.output("next"), (Floats{-4, -4}));
  EXPECT_EQ(s.output("old a"), (Floats{1, 1}));
}

TEST(State, TwoStatesMayGetOneValue) {
  Session s;
  const Value a = s.graph.input("a", kPair, true), b = s.graph.input("b", kPair, true);
  const Value sum = add(a, b);
  s.graph.update(a, sum);
  s.graph.update(b, sum);
  s.compile();
  s.set("a", pair(1, 2));
  s.set("b", pair(3, 4));
  s.run();
  EXPECT_EQ(s.state("a"), (Floats{4, 6}));
  EXPECT_EQ(s.state("b"), (Floats{4, 6}));
}

TEST(State, MayBeAFeedAConstantOrItself) {
  Session s;
  const Value a = s.graph.input("a", kPair, true), b = s.graph.input("b", kPair, true),
              c = s.graph.input("c", kPair, true), x = s.graph.input("x", kPair);
  s.graph.update(a, x);
  s.graph.update(b, constant(s.graph, 7, DType::kF32, {2}));
  s.graph.update(c, c);
  s.compile();
  s.set("c", pair(5, 6));
  ok_or_throw(s.program().feed("x", pair(1, 2)));
  s.run();
  EXPECT_EQ(s.state("a"), (Floats{1, 2}));
  EXPECT_EQ(s.state("b"), (Floats{7, 7}));
  EXPECT_EQ(s.state("c"), (Floats{5, 6}));
}

TEST(State, AsAnOutputIsTheValueOfTheRun) {
  Session s;
  const Value w = s.graph.input("w", kPair, true);
  const Value fresh = add(w, constant(s.graph, 1));
  s.graph.output("old", w);
  s.graph.output("new", fresh);
  s.graph.update(w, fresh);
  s.compile();
  s.set("w", pair(1, 2));
  s.run();
  EXPECT_EQ(s.output("old"), (Floats{1, 2}));
  EXPECT_EQ(s.output("new"), (Floats{2, 3}));
  EXPECT_EQ(s.state("w"), (Floats{2, 3}));
  s.set("w", pair(100, 100));  // outputs stay the last run's
  EXPECT_EQ(s.output("old"), (Floats{1, 2}));
  EXPECT_EQ(s.output("new"), (Floats{2, 3}));
}

TEST(State, ThatTheStoreLacksIsZeros) {
  Session s;
  const Value w = s.graph.input("w", kPair, true);
  s.graph.output("y", w);
  s.compile();
  EXPECT_EQ(s.store().names(), std::vector<std::string>{"w"});
  s.run();
  EXPECT_EQ(s.output("y"), (Floats{0, 0}));
}

TEST(State, OfAnotherTypeIsAnErrorThatNamesBoth) {
  Session s;
  s.set("w", Tensor::f32({3}, Floats{1, 2, 3}));
  s.graph.input("w", kPair, true);
  const auto program = s.executor().compile(s.graph, s.store());
  ASSERT_FALSE(program.has_value());
  EXPECT_EQ(program.error().code, Code::kFailedPrecondition);
  EXPECT_EQ(program.error().to_string(), "w is f32[3] on the device, the graph wants f32[2]");
  EXPECT_EQ(s.state("w"), (Floats{1, 2, 3}));
}

TEST(Store, KeepsTypesAndCopies) {
  Session s;
  Tensor tensor = pair(1, 2);
  s.set("b", tensor);
  s.set("a", Tensor::i32({}, std::vector<int32_t>{7}));
  tensor.as<float>()[0] = 9;
  EXPECT_EQ(s.state("b"), (Floats{1, 2}));
  EXPECT_EQ(s.store().names(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(error_text(s.store().set("b", Tensor::f32({1}, Floats{1}))),
            "b is f32[2] on the device, the graph wants f32[1]");
  EXPECT_EQ(s.store().get("c").error().code, Code::kNotFound);
}

TEST(Store, MayBeSharedByPrograms) {
  Session s;
  const Value w = s.graph.input("w", kPair, true);
  s.graph.update(w, mul(w, constant(s.graph, 2)));
  s.graph.output("y", w);
  s.compile();
  Graph evaluation;
  const Value same = evaluation.input("w", kPair, true);
  evaluation.output("y", neg(same));
  const auto other = value_or_throw(s.executor().compile(evaluation, s.store()));
  s.set("w", pair(1, 2));
  s.run();
  ok_or_throw(other->run());
  EXPECT_EQ(floats(other->fetch("y")), (Floats{-2, -4}));
  s.run();
  EXPECT_EQ(s.output("y"), (Floats{2, 4}));
  EXPECT_EQ(floats(other->fetch("y")), (Floats{-2, -4}));  // of its own last run
  EXPECT_EQ(s.state("w"), (Floats{4, 8}));
}

TEST(Store, OfAnotherExecutorIsRefused) {
  class OtherStore : public StateStore {
    Result<> set(const std::string&, const Tensor&) override { return {}; }
    Result<Tensor> get(const std::string&) const override { return Tensor(); }
    std::vector<std::string> names() const override { return {}; }
  } other;
  Session s;
  EXPECT_EQ(s.executor().compile(s.graph, other).error().code, Code::kInvalidArgument);
}

TEST(Feeds, KeepTheirValueAndAreNeverWrittenOver) {
  Session s;
  const Value x = s.graph.input("x", kPair);
  s.graph.output("y", neg(exp(neg(x))));
  s.graph.output("x", x);
  s.compile();
  ok_or_throw(s.program().feed("x", pair(0, 0)));
  for (int run = 0; run < 3; ++run) {
    s.run();
    EXPECT_EQ(s.output("y"), (Floats{-1, -1}));
    EXPECT_EQ(s.output("x"), (Floats{0, 0}));
  }
  ok_or_throw(s.program().feed("x", pair(5, 6)));
  EXPECT_EQ(s.output("x"), (Floats{0, 0}));  // until the next run
  s.run();
  EXPECT_EQ(s.output("x"), (Floats{5, 6}));
}

TEST(Feeds, OfWrongTypesAndNamesAreErrors) {
  Session s;
  s.graph.output("y", s.graph.input("x", kPair));
  s.graph.input("w", kPair, true);
  s.compile();
  EXPECT_EQ(error_text(s.program().feed("x", Tensor::f32({3}, Floats{1, 2, 3}))),
            "input x is f32[3], the graph wants f32[2]");
  EXPECT_EQ(error_text(s.program().feed("x", Tensor::i32({2}, std::vector<int32_t>{1, 2}))),
            "input x is i32[2], the graph wants f32[2]");
  EXPECT_EQ(error_text(s.program().feed("z", pair(1, 2))), "the graph has no input z");
  EXPECT_EQ(error_text(s.program().feed("w", pair(1, 2))), "the graph has no input w");  // a state
}

TEST(Outputs, AreThoseOfTheLastRun) {
  Session s;
  s.graph.output("y", exp(s.graph.input("x", kPair)));
  s.compile();
  EXPECT_EQ(s.program().fetch("y").error().code, Code::kFailedPrecondition);
  s.run();
  EXPECT_EQ(s.output("y"), (Floats{1, 1}));
  EXPECT_EQ(s.program().fetch("z").error().code, Code::kNotFound);
}

TEST(Outputs, MayBeConstantsAndEmpty) {
  Session s;
  s.graph.output("constant", constant(s.graph, 3, DType::kF32, {2}));
  s.graph.output("empty", s.graph.input("x", {DType::kF32, {0, 4}}));
  s.graph.output("empty too", transpose(s.graph.input("w", {DType::kF32, {0, 4}}, true), {1, 0}));
  s.compile();
  s.run();
  EXPECT_EQ(s.output("constant"), (Floats{3, 3}));
  EXPECT_EQ(value_or_throw(s.program().fetch("empty")).shape(), (Shape{0, 4}));
  EXPECT_EQ(value_or_throw(s.program().fetch("empty too")).shape(), (Shape{4, 0}));
}

TEST(Executor, OfAnUnknownDeviceIsAnError) {
  const auto executor = Executor::open("abacus");
  ASSERT_FALSE(executor.has_value());
  EXPECT_EQ(executor.error().code, Code::kInvalidArgument);
  EXPECT_EQ(
      executor.error().to_string(),
      "unknown device 'abacus'; devices are cpu, tpu, cuda, and pjrt:PATH for a plugin at a path");
}

TEST(Executor, RefusesAnOperatorWithoutAKernel) {
  const Op op{.name = "wish",
              .infer = [](const InferContext& c) { return std::vector<Type>{c.in(0)}; }};
  Session s;
  s.graph.output("y", s.graph.call1(op, {s.graph.input("x", kPair)}));
  const auto program = s.executor().compile(s.graph, s.store());
  ASSERT_FALSE(program.has_value());
  EXPECT_EQ(program.error().code, Code::kUnimplemented);
}

// A decomposition may be larger than its operator: an error, no exception and no crash.
TEST(Executor, RefusesADecompositionThatIsTooLarge) {
  const Op op{.name = "wide",
              .infer = [](const InferContext& c) { return std::vector<Type>{c.in(0)}; },
              .decompose =
                  [](Graph&, const std::vector<Value>& x, const Attrs&) {
                    const int64_t huge = int64_t{1} << 39;
                    return std::vector<Value>{reduce_sum(broadcast(x[0], {huge, 2}, {1}), {0})};
                  }};
  Session s;
  s.graph.output("y", s.graph.call1(op, {s.graph.input("x", {DType::kF32, {3}})}));
  EXPECT_EQ(s.executor().compile(s.graph, s.store()).error().code, Code::kInvalidArgument);
}

TEST(Executor, TheGraphMayGoAway) {
  Session s;
  std::unique_ptr<Program> program;
  {
    Graph graph;
    graph.output("y", exp(graph.input("x", kPair)));
    program = value_or_throw(s.executor().compile(graph, s.store()));
  }
  ok_or_throw(program->run());
  EXPECT_EQ(floats(program->fetch("y")), (Floats{1, 1}));
}

TEST(Executor, CountsItsMemory) {
  Session s;
  const Value x = s.graph.input("x", {DType::kF32, {1000}});
  s.graph.input("w", {DType::kF32, {100000}}, true);  // the store's
  s.graph.output("y", sub(exp(x), constant(s.graph, 1, DType::kF32, {1000})));
  s.compile();
  EXPECT_GE(s.program().memory_bytes(), 3 * 4000);
  EXPECT_LE(s.program().memory_bytes(), 4 * 4096);
}

TEST(Executor, ProfilesOperators) {
  Session s;
  s.graph.output("y", exp(exp(s.graph.input("x", kPair))));
  s.compile();
  RunProfile profile;
  ok_or_throw(s.program().run(&profile));
  ok_or_throw(s.program().run(&profile));
  ASSERT_EQ(profile.by_operator.size(), 1u);
  EXPECT_EQ(profile.by_operator["exp"].calls, 4);
  EXPECT_GE(profile.by_operator["exp"].seconds, 0);
}

// Kernels were planned for the threads of the time: more would write beyond their workspace.
TEST(Executor, RefusesToRunOnMoreThreadsThanItWasCompiledFor) {
  Session s;
  s.graph.output("y", exp(s.graph.input("x", kPair)));
  set_num_threads(1);
  s.compile();
  set_num_threads(2);
  EXPECT_EQ(s.program().run().error().code, Code::kFailedPrecondition);
  set_num_threads(1);
  EXPECT_TRUE(s.program().run().has_value());
  set_num_threads(0);
}

}  // namespace
}  // namespace headwater
