#include "kernels/activation.h"
#include "ops/elementwise.h"

namespace headwater {
namespace {

std::vector<Value> vjp(const VjpContext& c) {
  return {c.graph().call1(op::gelu_grad, {c.in(0), c.output_grads[0]})};
}

std::vector<Value> decompose(Graph&, const std::vector<Value>& inputs, const Attrs&) {
  const Value x = inputs[0];
  const Value cdf = mul(add(erf(mul(x, constant_like(x, 0.7071067811865476))), constant_like(x, 1)),
                        constant_like(x, 0.5));
  return {mul(x, cdf)};
}

void cpu(const KernelContext& c) {
  kernels::gelu_forward(c.in<float>(0), c.out<float>(0), nullptr, c.out_type(0).size());
}

}  // namespace

const Op op::gelu = {.name = "gelu",
                     .infer = infer_unary_f32,
                     .vjp = vjp,
                     .decompose = decompose,
                     .cpu = cpu,
                     .cost = elementwise_cost,
                     .samples = unary_samples};

Value gelu(Value x) { return x.graph().call1(op::gelu, {x}); }

}  // namespace headwater
