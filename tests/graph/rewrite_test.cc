// The passes that copy a graph: dead code, replacement, decomposition.
#include <gtest/gtest.h>

#include <algorithm>

#include "graph/graph.h"
#include "graph/op.h"
#include "ops/gradient.h"
#include "ops/ops.h"
#include "ops/registry.h"

namespace headwater {
namespace {

const Type kMatrix{DType::kF32, {4, 6}};

int64_t count(const Graph& graph, const Op& op) {
  return std::count_if(graph.nodes().begin(), graph.nodes().end(),
                       [&](const Node& node) { return node.op == &op; });
}

TEST(Rewrite, DropsDeadNodesAndKeepsInputsOutputsUpdatesAndScopes) {
  Graph graph, copy;
  graph.set_scope("a");
  const Value w = graph.input("w", kMatrix, true), x = graph.input("x", kMatrix);
  graph.input("unused", {DType::kI32, {3}});
  graph.input("unused state", {DType::kI32, {3}}, true);
  graph.set_scope("b");
  const Value y = mul(w, x);
  exp(tanh(x));  // dead
  graph.set_scope("c");
  const Value z = add(y, y);
  graph.output("y", y);
  graph.output("x", x);
  graph.update(w, z);
  rewrite(graph, copy);
  EXPECT_EQ(print_graph(copy),
            "%0: f32[4,6] = state \"w\" @ \"a\"\n"
            "%1: f32[4,6] = feed \"x\" @ \"a\"\n"
            "%2: i32[3] = feed \"unused\" @ \"a\"\n"
            "%3: i32[3] = state \"unused state\" @ \"a\"\n"
            "%4: f32[4,6] = mul(%0, %1) @ \"b\"\n"
            "%5: f32[4,6] = add(%4, %4) @ \"c\"\n"
            "output \"y\" = %4\n"
            "output \"x\" = %1\n"
            "update %0 = %5\n");
  EXPECT_NO_THROW(verify(copy));
  EXPECT_EQ(copy.scope(), "");
}

TEST(Rewrite, OfARewriteIsTheSame) {
  Graph graph, once, twice;
  const Value x = graph.input("x", kMatrix);
  graph.output("y", sum_all(mul(exp(x), x)));
  rewrite(graph, once);
  rewrite(once, twice);
  EXPECT_EQ(print_graph(once), print_graph(graph));
  EXPECT_EQ(print_graph(twice), print_graph(graph));
}

TEST(Rewrite, ReplacesNodes) {
  Graph graph, copy;
  const Value x = graph.input("x", kMatrix);
  const Value doubled = add(x, x);
  graph.output("y", exp(doubled));
  graph.output("doubled", doubled);
  rewrite(graph, copy, [](const Node& node, const std::vector<Value>& inputs, Graph&) {
    std::optional<std::vector<Value>> result;
    if (node.op == &op::add) result = {mul(inputs[0], constant_like(inputs[0], 2))};
    return result;
  });
  EXPECT_EQ(count(copy, op::add), 0);
  EXPECT_EQ(count(copy, op::mul), 1);
  EXPECT_EQ(copy.outputs()[1].value, Value(&copy, 2, 0));
  EXPECT_NO_THROW(verify(copy));
}

TEST(Rewrite, ReplacementMustHaveTheTypesOfTheNode) {
  Graph graph;
  const Value x = graph.input("x", kMatrix);
  graph.output("y", exp(x));
  for (const bool nothing : {false, true}) {
    Graph copy;
    const auto replace = [&](const Node& node, const std::vector<Value>& inputs, Graph&) {
      std::optional<std::vector<Value>> result;
      if (node.op == &op::exp) {
        result.emplace();
        if (!nothing) result->push_back(sum_all(inputs[0]));
      }
      return result;
    };
    EXPECT_THROW(rewrite(graph, copy, replace), GraphError);
  }
}

// Rewriting with equal nodes makes them one: identities vanish.
TEST(Rewrite, ReplacingByAnOperandMergesWhatBecomesEqual) {
  Graph graph, copy;
  const Value x = graph.input("x", kMatrix);
  graph.output("a", exp(x));
  graph.output("b", exp(stop_gradient(x)));
  rewrite(graph, copy, [](const Node& node, const std::vector<Value>& inputs, Graph&) {
    std::optional<std::vector<Value>> result;
    if (node.op == &op::stop_gradient) result = {inputs[0]};
    return result;
  });
  EXPECT_EQ(copy.nodes().size(), 2u);
  EXPECT_EQ(copy.outputs()[0].value, copy.outputs()[1].value);
}

// A model's worth of fused operators with their gradients.
void build_fused(Graph& graph) {
  const Value x = graph.input("x", kMatrix), w = graph.input("w", {DType::kF32, {6, 6}}, true),
              b = graph.input("b", {DType::kF32, {6}}, true),
              key = graph.input("key", {DType::kU32, {2}});
  graph.set_scope("layer");
  const Value h = linear_gelu(x, w, b);
  const Value y = residual_layer_norm(x, h, b, b, key, {.dropout_rate = 0.1, .site = 5});
  const Value c = reshape(attention(reshape(y, {2, 2, 6}), reshape(h, {2, 2, 6}),
                                    reshape(y, {2, 2, 6}), constant(graph, 1, DType::kI32, {2, 2}),
                                    key, {.num_heads = 2, .dropout_rate = 0.1}),
                          {4, 6});
  const Value loss =
      sum_all(vocab_cross_entropy(c, w, b, constant(graph, 1, DType::kI32, {4}), key, {}).loss);
  graph.set_scope("optimizer");
  const Value gradient = gradients(loss, {w})[0];
  const Value one = constant(graph, 1);
  const AdamUpdate updated = adam_update(w, w, w, gradient, one, global_norm({gradient}), {});
  graph.output("loss", loss);
  graph.update(w, updated.weight);
}

TEST(Decompose, LeavesPrimitivesOnly) {
  Graph graph, primitives;
  build_fused(graph);
  decompose(graph, primitives);
  EXPECT_NO_THROW(verify(primitives));
  for (const Node& node : primitives.nodes()) {
    EXPECT_EQ(node.op->decompose, nullptr) << node.op->name;
  }
  EXPECT_EQ(primitives.inputs().size(), graph.inputs().size());
  EXPECT_EQ(primitives.outputs()[0].value.type(), graph.outputs()[0].value.type());
  EXPECT_EQ(primitives.updates().size(), 1u);
  Graph again;
  decompose(primitives, again);
  EXPECT_EQ(print_graph(again), print_graph(primitives));
}

TEST(Decompose, KeepsWhatItIsToldTo) {
  Graph graph, kept, all;
  build_fused(graph);
  decompose(graph, kept, [](const Op& op) { return op.name == "layer_norm" || op.name == "dot"; });
  // Both inside of residual_layer_norm: one level down.
  EXPECT_EQ(count(kept, op::residual_layer_norm), 0);
  EXPECT_EQ(count(kept, op::layer_norm), 1);
  EXPECT_EQ(count(kept, op::layer_norm_grad), 0);
  decompose(graph, all, [](const Op&) { return true; });
  EXPECT_EQ(print_graph(all), print_graph(graph));
}

TEST(Decompose, NodesKeepTheScopeOfTheCall) {
  Graph graph, primitives;
  build_fused(graph);
  decompose(graph, primitives);
  for (const Node& node : primitives.nodes()) {
    if (node.op == &kInputOp) continue;
    EXPECT_TRUE(node.scope == "layer" || node.scope == "optimizer" || node.scope.empty())
        << node.op->name << " @ " << node.scope;
  }
}

// Outputs of a decomposition that nobody reads are not computed.
TEST(Decompose, LeavesNoDeadNodes) {
  Graph graph, primitives, swept;
  const Value x = graph.input("x", kMatrix), h = graph.input("h", {DType::kF32, {6}});
  graph.output("mean", graph.call(op::layer_norm, {x, h, h}, {{"eps", 1e-5}})[1]);
  decompose(graph, primitives);
  rewrite(primitives, swept);
  EXPECT_EQ(print_graph(swept), print_graph(primitives));
  EXPECT_EQ(count(primitives, op::rsqrt), 0);
}

}  // namespace
}  // namespace headwater
