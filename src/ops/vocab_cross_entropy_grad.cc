// h, weight, bias, targets, log-sum-exp [M], d loss [M] -> dh, dweight, dbias: with d = (softmax -
// one hot) * d loss, dh = d weight, dweight = d^T h, dbias = column sums of d.
#include "ops/elementwise.h"
#include "ops/vocab_cross_entropy.h"

namespace headwater {
namespace {

std::vector<Type> infer(const InferContext& c) {
  c.require_count(6);
  check_vocab_operands(c);
  const Type row{DType::kF32, c.shape(3)};
  c.require(c.in(4) == row && c.in(5) == row, "log-sum-exp and d loss must be f32 [M]");
  return {c.in(0), c.in(1), c.in(2)};
}

// The logits are made again behind a barrier: the forward's own would be kept until here.
std::vector<Value> decompose(Graph&, const std::vector<Value>& inputs, const Attrs&) {
  const std::vector<Value> kept = barrier(inputs);
  const Value h = kept[0], weight = kept[1];
  const int64_t m = h.dim(0), v = weight.dim(0);
  const Value logits = linear(h, weight, kept[2]);
  const Value probabilities = exp(sub(logits, reshape(kept[4], {m, 1})));
  const Value d = mul(sub(probabilities, one_hot(kept[3], v)), reshape(kept[5], {m, 1}));
  return {dot(d, weight), dot(d, h, true), reduce_sum(d, {0})};
}

Cost cost(const Node& node, std::span<const Type* const> types) {
  Cost cost = elementwise_cost(node, types);
  cost.flops =
      6.0 * static_cast<double>(types[0]->size()) * static_cast<double>(types[1]->shape[0]);
  return cost;
}

void cpu(const KernelContext& c) {
  kernels::vocabulary_cross_entropy_backward(
      vocabulary_shape(c.in_type(0), c.in_type(1)), c.in<float>(0), c.in<float>(1), c.in<float>(2),
      c.in<int32_t>(3), c.in<float>(4), c.in<float>(5), c.out<float>(0), 0.0f, c.out<float>(1),
      c.out<float>(2), c.workspace().data());
}

int64_t workspace(const Node&, std::span<const Type* const> types) {
  return kernels::vocabulary_cross_entropy_workspace_bytes(vocabulary_shape(*types[0], *types[1]));
}

}  // namespace

// No samples of its own: the log-sum-exp must be that of the forward operator, whose gradient it
// is.
const Op op::vocab_cross_entropy_grad = {.name = "vocab_cross_entropy_grad",
                                         .infer = infer,
                                         .decompose = decompose,
                                         .cpu = cpu,
                                         .workspace = workspace,
                                         .cost = cost};

}  // namespace headwater
