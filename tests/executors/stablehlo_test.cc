// The text of StableHLO programs: golden for small graphs, which all plugins at hand compile, and
// what it promises about arguments and results. That they compute the same numbers is tested by the
// battery of operators, on models and in training.
#include "executors/pjrt/stablehlo_writer.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "graph/op.h"
#include "executors/pjrt/aot.h"
#include "executors/plugins.h"
#include "executors/stablehlo_graphs.h"
#include "io/file.h"
#include "ops/ops.h"

namespace headwater {
namespace {

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// With HW_UPDATE_GOLDEN set the files are written instead of compared.
TEST(StableHloText, GoldenGraphs) {
  for (const StableHloGraph& example : stablehlo_graphs()) {
    SCOPED_TRACE(example.name);
    Graph graph;
    example.build(graph);
    const std::string text = stablehlo_text(graph, example.options);
    const std::string path = stablehlo_golden_path(example);
    if (std::getenv("HW_UPDATE_GOLDEN") != nullptr) {
      ASSERT_TRUE(write_file_atomic(local_files(), path, text));
    }
    const Result<std::string> golden = read_file(local_files(), path);
    ASSERT_TRUE(golden) << golden.error().to_string();
    EXPECT_EQ(text, *golden);
  }
}

class GoldenPrograms : public testing::TestWithParam<const char*> {};

TEST_P(GoldenPrograms, Compile) {
  HW_SKIP_WITHOUT_WHEEL(GetParam());
  const pjrt::Client client = pjrt::open_client(GetParam(), 2);
  for (const StableHloGraph& example : stablehlo_graphs()) {
    SCOPED_TRACE(example.name);
    const auto program =
        client.compile(value_or_throw(read_file(local_files(), stablehlo_golden_path(example))),
                       client.options(example.options.num_replicas));
    EXPECT_TRUE(program) << program.error().to_string();
  }
}

INSTANTIATE_TEST_SUITE_P(Cpu, GoldenPrograms, testing::ValuesIn(pjrt::kCpuWheels),
                         [](const auto& test) { return fmt::format("plugin{}", test.index); });

TEST(GoldenProgramsForTpu, Compile) {
  HW_SKIP_WITHOUT_WHEEL("libtpu");
  const pjrt::Plugin* const plugin =
      value_or_throw(pjrt::Plugin::open(pjrt::wheel_path("libtpu"), pjrt::PluginUse::kAheadOfTime));
  const pjrt::Topology topology =
      value_or_throw(pjrt::Topology::create(*plugin, value_or_throw(pjrt::find_tpu_type("v3-8"))));
  for (const StableHloGraph& example : stablehlo_graphs()) {
    if (example.options.num_replicas > 1) continue;  // replicas of a part of the topology
    SCOPED_TRACE(example.name);
    const std::string text =
        value_or_throw(read_file(local_files(), stablehlo_golden_path(example)));
    const auto program = topology.compile(text, {.num_replicas = 1});
    EXPECT_TRUE(program) << program.error().to_string();
  }
}

TEST(StableHloText, UpdatedStateIsTiedToItsResult) {
  Graph graph;
  const Type type{DType::kF32, {2}};
  const Value x = graph.input("x", type), a = graph.input("a", type, true),
              fixed = graph.input("fixed", type, true), b = graph.input("b", type, true);
  graph.update(b, a);  // results may be arguments, and one value may be several results
  graph.update(a, add(b, x));
  graph.output("sum", add(b, x));
  graph.output("fixed", fixed);
  const std::string text = stablehlo_text(graph);
  EXPECT_TRUE(contains(text,
                       "  func.func public @main(\n"
                       "      %arg0_x: tensor<2xf32>,\n"
                       "      %arg1_a: tensor<2xf32> {tf.aliasing_output = 1 : i32},\n"
                       "      %arg2_fixed: tensor<2xf32>,\n"
                       "      %arg3_b: tensor<2xf32> {tf.aliasing_output = 0 : i32}) -> "
                       "(tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {\n"))
      << text;
  EXPECT_TRUE(contains(text, "return %arg1_a, %add_1, %add_1, %arg2_fixed : ")) << text;
}

TEST(StableHloText, NamesOfInputsBecomeIdentifiers) {
  Graph graph;
  graph.output("y", neg(graph.input("a.b/c#adam_m \"%\n", {DType::kF32, {}})));
  EXPECT_TRUE(contains(stablehlo_text(graph), "%arg0_a.b_c_adam_m____: tensor<f32>"));
}

TEST(StableHloText, AGraphWithoutResultsIsAProgram) {
  Graph graph;
  graph.input("unused", {DType::kPred, {0, 3}});
  EXPECT_TRUE(
      contains(stablehlo_text(graph), "%arg0_unused: tensor<0x3xi1>) -> () {\n    return\n"));
}

TEST(StableHloText, PrecisionOfProducts) {
  Graph graph;
  const Value x = graph.input("x", {DType::kF32, {2, 2}});
  graph.output("y", dot(x, x));
  const std::string full = stablehlo_text(graph),
                    mixed = stablehlo_text(graph, {.mixed_bf16 = true});
  EXPECT_TRUE(
      contains(full, "precision = [HIGHEST, HIGHEST] : (tensor<2x2xf32>, tensor<2x2xf32>)"));
  EXPECT_TRUE(contains(mixed,
                       "precision = [DEFAULT, DEFAULT] : (tensor<2x2xbf16>, tensor<2x2xbf16>) -> "
                       "tensor<2x2xf32>"));
}

TEST(StableHloText, ReplicasTalkOnlyWhereThereAreSome) {
  Graph graph;
  const Value x = graph.input("x", {DType::kF32, {2}});
  graph.output("sum", all_reduce(x));
  graph.output("replica", replica_id(graph));
  const std::string alone = stablehlo_text(graph),
                    three = stablehlo_text(graph, {.num_replicas = 3});
  EXPECT_TRUE(contains(alone, "return %arg0_x, %replica_id_1 : ")) << alone;
  EXPECT_FALSE(contains(alone, "stablehlo.replica_id"));
  EXPECT_TRUE(contains(three, "replica_groups = dense<[[0, 1, 2]]> : tensor<1x3xi64>")) << three;
  EXPECT_TRUE(contains(three, "stablehlo.replica_id : tensor<ui32>"));
  EXPECT_THROW(stablehlo_text(graph, {.num_replicas = 0}), GraphError);
  EXPECT_THROW(stablehlo_text(graph, {.num_replicas = 65537}), GraphError);
}

TEST(StableHloText, ConstantsAreExact) {
  Graph graph;
  graph.output("a", constant(graph, 0.1, DType::kF32, {2, 0}));
  graph.output("b", constant(graph, -std::numeric_limits<double>::infinity()));
  graph.output("c", constant(graph, 4294967295.0, DType::kU32));
  graph.output("d", constant(graph, -2147483648.0, DType::kI32));
  graph.output("e", constant(graph, 1, DType::kPred));
  const std::string text = stablehlo_text(graph);
  for (const char* line : {"dense<0x3DCCCCCD> : tensor<f32>", "dense<0xFF800000> : tensor<f32>",
                           "dense<4294967295> : tensor<ui32>", "dense<-2147483648> : tensor<i32>",
                           "dense<true> : tensor<i1>", "-> tensor<2x0xf32>"}) {
    EXPECT_TRUE(contains(text, line)) << line;
  }
}

}  // namespace
}  // namespace headwater
