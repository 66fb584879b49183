// dy * (Phi(x) + x phi(x)), Phi and phi of the standard normal distribution.
#include "kernels/activation.h"
#include "ops/elementwise.h"

namespace headwater {
namespace {

std::vector<Type> infer(const InferContext& c) {
  c.require_count(2);
  c.require_dtype(0, DType::kF32);
  c.require_same_type(0, 1);
  return {c.in(0)};
}

std::vector<Value> decompose(Graph&, const std::vector<Value>& inputs, const Attrs&) {
  const Value x = inputs[0];
  const Value cdf = mul(add(erf(mul(x, constant_like(x, 0.7071067811865476))), constant_like(x, 1)),
                        constant_like(x, 0.5));
  const Value density =
      mul(exp(mul(mul(x, x), constant_like(x, -0.5))), constant_like(x, 0.3989422804014327));
  return {mul(inputs[1], add(cdf, mul(x, density)))};
}

std::vector<Sample> samples() {
  const Type x{DType::kF32, {3, 5}};
  return {{.inputs = {x, x}}};
}

void cpu(const KernelContext& c) {
  kernels::gelu_backward(c.in<float>(0), c.in<float>(1), c.out<float>(0), c.out_type(0).size());
}

}  // namespace

const Op op::gelu_grad = {.name = "gelu_grad",
                          .infer = infer,
                          .decompose = decompose,
                          .cpu = cpu,
                          .cost = elementwise_cost,
                          .samples = samples,
                          .in_place = {{0, 1}}};

}  // namespace headwater
