// q, k, v, attention_mask, key, context, log-sum-exp, d context -> dq, dk, dv.
#include "ops/kernel_arguments.h"
#include "ops/attention.h"
#include "ops/elementwise.h"
#include "ops/gradient.h"

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

std::vector<Value> decompose(Graph& graph, const std::vector<Value>& inputs, const Attrs& attrs) {
  const std::vector<Value> forward(inputs.begin(), inputs.begin() + 5);
  const Value context = attention_in_primitives(graph, forward, attrs)[0];
  return pullback({context}, {inputs[7]}, {inputs[0], inputs[1], inputs[2]});
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
