#include "graph/graph.h"

#include <gtest/gtest.h>

#include "graph/op.h"
#include "ops/ops.h"
#include "ops/registry.h"

namespace headwater {
namespace {

const Type kMatrix{DType::kF32, {2, 3}};

// What `build` throws.
template <class Build>
std::string error_of(Build build) {
  try {
    build();
  } catch (const GraphError& e) {
    return e.what();
  }
  return "no error";
}

TEST(Graph, EqualCallsAreOneNode) {
  Graph graph;
  const Value x = graph.input("x", kMatrix), y = graph.input("y", kMatrix);
  const Value sum = add(x, y);
  EXPECT_EQ(add(x, y), sum);
  EXPECT_EQ(graph.nodes().size(), 3u);
  // Order of operands, attributes and operator matter.
  EXPECT_NE(add(y, x), sum);
  EXPECT_NE(sub(x, y), sum);
  const Value along_rows = reduce_sum(x, {0});
  EXPECT_EQ(reduce_sum(x, {-2}), along_rows);
  EXPECT_NE(reduce_sum(x, {1}), along_rows);
  EXPECT_NE(constant(graph, 0.0), constant(graph, -0.0));
  EXPECT_NE(constant(graph, 1, DType::kI32), constant(graph, 1, DType::kU32));
}

TEST(Graph, CallsOfSeveralOutputsAreOneNode) {
  Graph graph;
  const Value x = graph.input("x", kMatrix), h = graph.input("h", {DType::kF32, {3}});
  const Attrs attrs{{"eps", 1e-5}};
  const std::vector<Value> first = graph.call(op::layer_norm, {x, h, h}, attrs);
  ASSERT_EQ(first.size(), 3u);
  EXPECT_EQ(graph.call(op::layer_norm, {x, h, h}, attrs), first);
  EXPECT_NE(exp(first[1]), exp(first[2]));
  EXPECT_NE(graph.call(op::layer_norm, {x, h, h}, {{"eps", 1e-6}}), first);
}

// A node keeps the scope of the first call; equal calls elsewhere are still the same value.
TEST(Graph, ScopesDoNotKeepEqualCallsApart) {
  Graph graph;
  graph.set_scope("first");
  const Value x = graph.input("x", kMatrix);
  const Value y = exp(x);
  graph.set_scope("second");
  EXPECT_EQ(exp(x), y);
  EXPECT_EQ(graph.node(y.node()).scope, "first");
}

TEST(Graph, ErrorsNameScopeOperatorAndOperandTypes) {
  Graph graph;
  graph.set_scope("encoder.layer.3");
  const Value x = graph.input("x", kMatrix), ids = graph.input("ids", {DType::kI32, {4}});
  EXPECT_EQ(error_of([&] { add(x, ids); }),
            "encoder.layer.3: add(f32[2,3], i32[4]): operands 0 and 1 must have the same type");
  EXPECT_EQ(error_of([&] {
              graph.call(op::transpose, {x}, {{"permutation", Shape{0, 0}}});
            }),
            "encoder.layer.3: transpose(f32[2,3]): wants a permutation of all axes");
  EXPECT_EQ(error_of([&] { graph.call(op::transpose, {x}); }),
            "encoder.layer.3: transpose(f32[2,3]): attribute permutation is missing");
  EXPECT_EQ(
      error_of([&] {
        graph.call(op::transpose, {x}, {{"permutation", 1.0}});
      }),
      "encoder.layer.3: transpose(f32[2,3]): attribute permutation must be a list of integers");
  graph.set_scope("");
  EXPECT_EQ(error_of([&] { exp(ids); }), "exp(i32[4]): operand 0 must be f32");
  EXPECT_EQ(error_of([&] { graph.call(op::add, {x}); }), "add(f32[2,3]): wants 2 operands");
  EXPECT_EQ(error_of([&] { constant(graph, 0.5, DType::kI32); }), "constant(): 0.5 is no i32");
  EXPECT_EQ(error_of([&] { reduce_sum(x, {2}); }), "axis 2 does not exist at rank 2");
  EXPECT_EQ(error_of([&] { x.dim(2); }), "axis 2 of f32[2,3] does not exist");
}

TEST(Graph, ValuesOfAnotherGraphAreRefused) {
  Graph graph, other;
  const Value x = graph.input("x", kMatrix), foreign = other.input("x", kMatrix);
  EXPECT_EQ(error_of([&] { graph.call(op::add, {x, foreign}); }), "add: not a value of this graph");
  EXPECT_EQ(error_of([&] { graph.call(op::exp, {Value()}); }), "exp: not a value of this graph");
  EXPECT_EQ(error_of([&] { graph.output("y", foreign); }), "y: not a value of this graph");
  EXPECT_EQ(error_of([&] { graph.output("y", Value(&graph, 7, 0)); }),
            "y: not a value of this graph");
  EXPECT_EQ(error_of([&] { graph.output("y", Value(&graph, 0, 1)); }),
            "y: not a value of this graph");
  const Value state = graph.input("w", kMatrix, true);
  EXPECT_EQ(error_of([&] { graph.update(state, foreign); }), "update: not a value of this graph");
  EXPECT_EQ(error_of([&] { graph.update(foreign, state); }), "update: not a value of this graph");
}

TEST(Graph, NamesAreUnique) {
  Graph graph;
  const Value x = graph.input("x", kMatrix);
  EXPECT_EQ(error_of([&] { graph.input("x", kMatrix, true); }), "input x exists already");
  graph.output("y", x);
  EXPECT_EQ(error_of([&] { graph.output("y", x); }), "output y exists already");
  graph.output("z", x);  // one value may be several outputs
  EXPECT_EQ(graph.inputs().size(), 1u);
  EXPECT_EQ(graph.outputs().size(), 2u);
}

TEST(Graph, InputsHaveTypesThatAValueCanHave) {
  Graph graph;
  EXPECT_EQ(error_of([&] {
              graph.input("x", {DType::kF32, {2, -1}});
            }),
            "input x: no value can be f32[2,-1]");
  EXPECT_EQ(error_of([&] {
              graph.input("x", {DType::kF64, {2}});
            }),
            "input x: no value can be f64[2]");
  const int64_t huge = int64_t{1} << 30;
  EXPECT_THROW(graph.input("x", {DType::kF32, {huge, huge, huge}}), GraphError);
  EXPECT_THROW(graph.input("x", {DType::kF32, {0, huge, huge}}), GraphError);
  EXPECT_EQ(graph.nodes().size(), 0u);
  EXPECT_NO_THROW(graph.input("x", {DType::kF32, {0, 3}}));
}

TEST(Graph, CallsThatAreTooLargeAreRefused) {
  Graph graph;
  const Value x = graph.input("x", {DType::kF32, {int64_t{1} << 30, 1}});
  EXPECT_EQ(error_of([&] { dot(x, x, false, true); }),
            "dot(f32[1073741824,1], f32[1073741824,1]): no value can be "
            "f32[1073741824,1073741824]");
}

TEST(Graph, StateIsUpdatedOnceByItsOwnType) {
  Graph graph;
  const Value w = graph.input("w", kMatrix, true), x = graph.input("x", kMatrix);
  const Value other = graph.input("other", {DType::kF32, {3}});
  EXPECT_EQ(error_of([&] { graph.update(x, w); }), "only a state input can be updated");
  EXPECT_EQ(error_of([&] { graph.update(exp(w), w); }), "only a state input can be updated");
  EXPECT_EQ(error_of([&] { graph.update(w, other); }),
            "update of w changes its type from f32[2,3] to f32[3]");
  graph.update(w, add(w, x));
  EXPECT_EQ(error_of([&] { graph.update(w, x); }), "w is updated twice");
  EXPECT_EQ(graph.updates().size(), 1u);
}

TEST(Graph, FindsInputs) {
  Graph graph;
  const Value x = graph.input("x", kMatrix);
  ASSERT_NE(graph.find_input("x"), nullptr);
  EXPECT_EQ(graph.find_input("x")->value, x);
  EXPECT_EQ(graph.find_input("y"), nullptr);
  EXPECT_EQ(graph.input_of(x)->name, "x");
  EXPECT_EQ(graph.input_of(exp(x)), nullptr);
}

TEST(Graph, AFailedCallLeavesTheGraphAsItWas) {
  Graph graph;
  const Value x = graph.input("x", kMatrix);
  EXPECT_THROW(graph.call(op::add, {x}), GraphError);
  EXPECT_EQ(graph.nodes().size(), 1u);
  EXPECT_EQ(exp(x).node(), 1);
}

std::vector<Type> g_types;  // what the operator below gives

TEST(Verify, FindsATypeThatTheOperatorDoesNotGive) {
  const Op op{.name = "fickle", .infer = [](const InferContext&) { return g_types; }};
  g_types = {kMatrix};
  Graph graph;
  const Value x = graph.input("x", kMatrix);
  graph.call(op, {x});
  EXPECT_NO_THROW(verify(graph));
  g_types = {{DType::kF32, {3, 2}}};
  EXPECT_EQ(error_of([&] { verify(graph); }),
            "node 1 (fickle) has other types than its operator gives");
  g_types = {{DType::kF32, {-1}}};
  EXPECT_EQ(error_of([&] { verify(graph); }), "node 1: fickle(f32[2,3]): no value can be f32[-1]");
}

TEST(Attrs, KeepTheirTypes) {
  const Attrs attrs{{"flag", true},
                    {"axis", int64_t{1}},
                    {"rate", 1.0},
                    {"name", std::string("a")},
                    {"axes", std::vector<int64_t>{1, 2}}};
  EXPECT_TRUE(attrs.get_bool("flag"));
  EXPECT_EQ(attrs.get_int("axis"), 1);
  EXPECT_EQ(attrs.get_double("rate"), 1.0);
  EXPECT_EQ(attrs.get_text("name"), "a");
  EXPECT_EQ(attrs.get_ints("axes").size(), 2u);
  EXPECT_EQ(error_of([&] { attrs.get_int("rate"); }), "attribute rate must be an integer");
  EXPECT_EQ(error_of([&] { attrs.get_double("axis"); }), "attribute axis must be a number");
  EXPECT_EQ(error_of([&] { attrs.get_bool("nothing"); }), "attribute nothing is missing");
  EXPECT_EQ(attrs.text(), " {axes = [1, 2], axis = 1, flag = true, name = \"a\", rate = 1.0}");
  EXPECT_EQ(Attrs().text(), "");
}

}  // namespace
}  // namespace headwater
