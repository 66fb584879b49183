// The executor on XLA devices: state, feeds, outputs, replicas, errors; on the CPU plugins that are
// there. What operators compute is compared elsewhere.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "executors/executor.h"
#include "executors/plugins.h"
#include "ops/ops.h"

namespace headwater {
namespace {

using Floats = std::vector<float>;
const Type kPair{DType::kF32, {2}};

Tensor pair(float a, float b) { return Tensor::f32({2}, Floats{a, b}); }
Floats floats(const Result<Tensor>& tensor) {
  const Tensor value = value_or_throw(tensor);
  return {value.as<float>().begin(), value.as<float>().end()};
}
template <class T>
std::string message(const Result<T>& result) {
  return result ? "no error" : result.error().to_string();
}

// Compiled programs are kept in a folder of the test's own.
class PjrtExecutor : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    HW_SKIP_WITHOUT_WHEEL(GetParam());
    cache_ = testing::TempDir() + "xla-cache-XXXXXX";
    ASSERT_NE(mkdtemp(cache_.data()), nullptr);
    setenv("XDG_CACHE_HOME", cache_.c_str(), 1);
  }
  void TearDown() override {
    if (!cache_.empty()) std::filesystem::remove_all(cache_);
  }

  std::unique_ptr<Executor> open(int64_t num_replicas = 1) const {
    return value_or_throw(
        Executor::open("pjrt:" + pjrt::wheel_path(GetParam()), {.num_replicas = num_replicas}));
  }
  size_t cached_programs() const {
    const auto files = local_files().list(cache_ + "/headwater/xla");
    return files ? files->size() : 0;
  }

 private:
  std::string cache_;
};

std::string test_name(const testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  std::erase(name, '-');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Cpu, PjrtExecutor, testing::ValuesIn(pjrt::kCpuWheels), test_name);

// w += x; y = w * x, and the new w.
void build_step(Graph& graph) {
  const Value w = graph.input("w", kPair, true), x = graph.input("x", kPair);
  const Value sum = add(w, x);
  graph.update(w, sum);
  graph.output("sum", sum);
  graph.output("product", mul(w, x));
}

TEST_P(PjrtExecutor, UpdatesStateRunAfterRun) {
  const auto executor = open();
  const auto store = executor->make_store();
  Graph graph;
  build_step(graph);
  const auto program = value_or_throw(executor->compile(graph, *store));
  EXPECT_FALSE(program->fetch("sum"));
  ok_or_throw(store->set("w", pair(1, 2)));
  EXPECT_EQ(floats(store->get("w")), (Floats{1, 2}));
  ok_or_throw(program->feed("x", pair(10, 20)));
  ok_or_throw(program->run());
  ok_or_throw(program->run());
  ok_or_throw(program->feed("x", pair(0, -1)));
  ok_or_throw(program->run());
  EXPECT_EQ(floats(store->get("w")), (Floats{21, 41}));
  EXPECT_EQ(floats(program->fetch("sum")), (Floats{21, 41}));
  EXPECT_EQ(floats(program->fetch("product")), (Floats{0, -42}));
  EXPECT_GE(program->memory_bytes(), 0);
  ok_or_throw(store->set("w", pair(5, 5)));
  ok_or_throw(program->run());
  EXPECT_EQ(floats(store->get("w")), (Floats{5, 4}));
}

TEST_P(PjrtExecutor, WhatWasNeverSetOrFedIsZero) {
  const auto executor = open();
  const auto store = executor->make_store();
  Graph graph;
  build_step(graph);
  const auto program = value_or_throw(executor->compile(graph, *store));
  EXPECT_EQ(store->names(), (std::vector<std::string>{"w"}));
  EXPECT_EQ(floats(store->get("w")), (Floats{0, 0}));
  ok_or_throw(program->run());
  EXPECT_EQ(floats(program->fetch("sum")), (Floats{0, 0}));
}

TEST_P(PjrtExecutor, ProgramsShareAStore) {
  const auto executor = open();
  const auto store = executor->make_store();
  Graph step, look;
  build_step(step);
  look.output("twice", add(look.input("w", kPair, true), look.input("w2", kPair, true)));
  const auto first = value_or_throw(executor->compile(step, *store));
  const auto second = value_or_throw(executor->compile(look, *store));
  ok_or_throw(store->set("w2", pair(100, 200)));
  ok_or_throw(first->feed("x", pair(1, 2)));
  for (int i = 1; i <= 3; ++i) {
    ok_or_throw(first->run());
    ok_or_throw(second->run());
    const auto n = static_cast<float>(i);
    EXPECT_EQ(floats(second->fetch("twice")), (Floats{100 + n, 200 + 2 * n}));
  }
  EXPECT_EQ(store->names(), (std::vector<std::string>{"w", "w2"}));
}

TEST_P(PjrtExecutor, WrongTypesAndNamesAreErrors) {
  const auto executor = open();
  const auto store = executor->make_store();
  Graph graph;
  build_step(graph);
  const auto program = value_or_throw(executor->compile(graph, *store));
  // The plugin itself would not notice: both have four bytes an element.
  const auto fed = program->feed("x", Tensor::i32({2}, std::vector<int32_t>{1, 2}));
  EXPECT_EQ(message(fed), "input x is i32[2], the graph wants f32[2]");
  EXPECT_FALSE(program->feed("x", Tensor::f32({4}, Floats{1, 2, 3, 4})));
  EXPECT_EQ(program->feed("z", pair(0, 0)).error().code, Code::kNotFound);
  EXPECT_FALSE(store->set("w", Tensor::scalar(1)));
  EXPECT_FALSE(store->get("z"));
  ok_or_throw(program->run());
  EXPECT_EQ(program->fetch("z").error().code, Code::kNotFound);
  Graph other;
  other.output("w", neg(other.input("w", {DType::kF32, {3}}, true)));
  const auto clash = executor->compile(other, *store);
  ASSERT_FALSE(clash);
  EXPECT_EQ(clash.error().code, Code::kFailedPrecondition);
  const auto native = value_or_throw(Executor::open("cpu"));
  EXPECT_FALSE(executor->compile(graph, *native->make_store()));
}

TEST_P(PjrtExecutor, DealsRowsToReplicas) {
  for (const int64_t replicas : {2, 4}) {
    const auto executor = open(replicas);
    EXPECT_EQ(executor->num_replicas(), replicas);
    const auto store = executor->make_store();
    Graph graph;
    build_step(graph);
    const auto program = value_or_throw(executor->compile(graph, *store));
    ok_or_throw(store->set("w", pair(1, 1)));
    Floats rows;
    for (int64_t i = 0; i < 2 * replicas; ++i) rows.push_back(static_cast<float>(i + 10));
    ok_or_throw(program->feed("x", Tensor::f32({2 * replicas}, rows)));
    ok_or_throw(program->run());
    for (float& row : rows) ++row;
    EXPECT_EQ(floats(program->fetch("sum")), rows);
    EXPECT_EQ(floats(store->get("w")), (Floats{11, 12}));  // of the first replica
    ok_or_throw(program->feed("x", pair(1, 1)));           // to all
    ok_or_throw(program->run());
    for (float& row : rows) ++row;
    EXPECT_EQ(floats(program->fetch("sum")), rows);
    const auto wrong = program->feed("x", Tensor::f32({3}, Floats{1, 2, 3}));
    EXPECT_NE(message(wrong).find(fmt::format("f32[{}]", 2 * replicas)), std::string::npos)
        << message(wrong);
  }
}

TEST_P(PjrtExecutor, CompilesAProgramOnce) {
  for (int i = 0; i < 2; ++i) {
    const auto executor = open();
    const auto store = executor->make_store();
    Graph graph;
    build_step(graph);
    const auto program = value_or_throw(executor->compile(graph, *store));
    ok_or_throw(store->set("w", pair(1, 2)));
    ok_or_throw(program->feed("x", pair(1, 1)));
    ok_or_throw(program->run());
    EXPECT_EQ(floats(store->get("w")), (Floats{2, 3}));
    EXPECT_EQ(cached_programs(), 1u);
  }
}

TEST_P(PjrtExecutor, AGraphThatNoMemoryHoldsIsRefused) {
  const auto executor = open();
  const auto store = executor->make_store();
  Graph graph;
  const Value x = graph.input("x", {DType::kF32, {1 << 20, 1}});
  graph.output("y", dot(x, x, false, true));
  const auto program = executor->compile(graph, *store);
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().code, Code::kResourceExhausted);
}

TEST(Devices, ThatAreNotThereAreErrors) {
  const auto path = Executor::open("pjrt:/no/such.so");
  ASSERT_FALSE(path);
  EXPECT_EQ(path.error().code, Code::kNotFound);
  EXPECT_EQ(Executor::open("gpu").error().code, Code::kInvalidArgument);
  EXPECT_FALSE(Executor::open("cpu", {.num_replicas = 2}));
  EXPECT_FALSE(Executor::open("cpu", {.mixed_bf16 = true}));
  EXPECT_FALSE(Executor::open("cpu", {.num_replicas = -1}));
  EXPECT_EQ(value_or_throw(Executor::open("cpu", {.num_replicas = 0}))->num_replicas(), 1);
}

}  // namespace
}  // namespace headwater
