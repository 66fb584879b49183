#include "executors/stablehlo_graphs.h"

#include "ops/gradient.h"
#include "ops/ops.h"

namespace headwater {
namespace {

const Type kKey{DType::kU32, {2}};

// A step of a layer with a residual: state, its update in place.
void dense_step(Graph& graph) {
  const Value x = graph.input("x", {DType::kF32, {4, 3}}), key = graph.input("key", kKey);
  const Value weight = graph.input("dense.weight", {DType::kF32, {3, 3}}, true);
  const Value bias = graph.input("dense.bias", {DType::kF32, {3}}, true);
  const Value gamma = constant(graph, 1, DType::kF32, {3}), beta = constant_like(gamma, 0);
  const Value y = residual_layer_norm(x, linear_gelu(x, weight, bias), gamma, beta, key, {});
  const Value loss = sum_all(mul(y, x));
  const std::vector<Value> grads = gradients(loss, {weight, bias});
  const Value rate = constant(graph, 0.1);
  graph.update(weight, sub(weight, mul(grads[0], rate)));
  graph.update(bias, sub(bias, mul(grads[1], rate)));
  graph.output("loss", loss);
}

// The masked-language-model head: products over a vocabulary, predictions, look-ups and their
// gradient.
void vocabulary(Graph& graph) {
  const Value ids = graph.input("ids", {DType::kI32, {3}}), key = graph.input("key", kKey);
  const Value table = graph.input("table", {DType::kF32, {5, 2}}, true);
  const Value bias = graph.input("bias", {DType::kF32, {5}}, true);
  const VocabCrossEntropy out =
      vocab_cross_entropy(gather_rows(table, ids), table, bias, ids, key, {.sample = false});
  graph.output("gradient", gradients(sum_all(out.loss), {table})[0]);
  graph.output("prediction", out.prediction);
}

// Attention on two replicas with mixed precision, its gradient summed over them.
void replicas(Graph& graph) {
  const Value x = graph.input("x", {DType::kF32, {1, 4, 4}});
  const Value mask = graph.input("mask", {DType::kI32, {1, 4}}), key = graph.input("key", kKey);
  const Value y =
      attention(x, x, x, mask, key, {.num_heads = 2, .dropout_rate = 0.1, .causal = true});
  graph.output("gradient", all_reduce(gradients(sum_all(y), {x})[0]));
}

}  // namespace

std::vector<StableHloGraph> stablehlo_graphs() {
  return {{"dense_step", dense_step, {}},
          {"vocabulary", vocabulary, {}},
          {"replicas", replicas, {.num_replicas = 2, .mixed_bf16 = true}}};
}

std::string stablehlo_golden_path(const StableHloGraph& example) {
  return fmt::format("{}/golden/stablehlo/{}.mlir", HW_TESTS_DIR, example.name);
}

}  // namespace headwater
