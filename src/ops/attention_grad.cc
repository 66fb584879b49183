// q, k, v, attention_mask, key, context, log-sum-exp, d context -> dq, dk, dv.
#include <cmath>

#include "ops/attention.h"
#include "ops/elementwise.h"
#include "ops/kernel_arguments.h"

namespace headwater {
namespace {

std::vector<Type> infer(const InferContext& c) {
  c.require_count(8);
  check_attention(c);
  c.require_same_type(0, 5);
  c.require_same_type(0, 7);
  const Shape& shape = c.shape(0);
  c.require(c.in(6) == Type{DType::kF32, {shape[0], c.attrs.get_int("num_heads"), shape[1]}},
            "the log-sum-exp must be f32 [B, N, T]");
  return {c.in(0), c.in(0), c.in(0)};
}

// The probabilities are made again from the scores and their log-sum-exp, behind a barrier: as the
// forward's own values they would be kept, T x T of each layer (Dao et al. 2022, appendix B.2, has
// the formulas).
std::vector<Value> decompose(Graph&, const std::vector<Value>& inputs, const Attrs& attrs) {
  const std::vector<Value> kept =
      barrier({inputs[0], inputs[1], inputs[2], inputs[3], keep(inputs[5]), inputs[6], inputs[7]});
  const int64_t heads = attrs.get_int("num_heads");
  const Value q = split_heads(kept[0], heads), k = split_heads(kept[1], heads),
              v = split_heads(kept[2], heads), context = split_heads(kept[4], heads),
              d_context = split_heads(kept[6], heads), lse = kept[5];
  const Shape row{q.dim(0), heads, q.dim(2), 1};
  const auto drop = [&](Value x) {
    return dropout(x, inputs[4], attrs.get_double("rate"), attrs.get_int("site"));
  };
  const Value scores = attention_scores(kept[0], kept[1], kept[3], attrs);
  const Value p = exp(sub(scores, reshape(lse, row)));
  const Value mean_dp = reshape(reduce_sum(mul(context, d_context), {3}), row);
  const Value dp = sub(drop(dot(d_context, v, false, true)), mean_dp);
  const Value scale = constant_like(q, 1 / std::sqrt(static_cast<double>(q.dim(3))));
  const Value d_scores = mul(p, dp);
  return {join_heads(mul(dot(d_scores, k), scale)), join_heads(mul(dot(d_scores, q, true), scale)),
          join_heads(dot(drop(p), d_context, true))};
}

Cost cost(const Node& node, std::span<const Type* const> types) {
  Cost cost = elementwise_cost(node, types);
  const Shape& s = types[0]->shape;
  cost.flops = 10.0 * static_cast<double>(s[0] * s[1]) * static_cast<double>(s[1] * s[2]);
  return cost;
}

void cpu(const KernelContext& c) {
  kernels::attention_backward(
      attention_shape(c.in_type(0), c.attrs()), c.in<float>(0), c.in<float>(1), c.in<float>(2),
      c.in<int32_t>(3), dropout_argument(c, 4), c.in<float>(6), c.in<float>(7), c.out<float>(0),
      c.out<float>(1), c.out<float>(2), c.workspace().data());
}

int64_t workspace(const Node& node, std::span<const Type* const> types) {
  return kernels::attention_workspace_bytes(attention_shape(*types[0], node.attrs));
}

}  // namespace

// No samples of its own: a call makes sense only with the outputs of the forward operator, whose
// gradient it is.
const Op op::attention_grad = {.name = "attention_grad",
                               .infer = infer,
                               .decompose = decompose,
                               .cpu = cpu,
                               .workspace = workspace,
                               .cost = cost};

}  // namespace headwater
