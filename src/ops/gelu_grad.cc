// dy * (Phi(x) + x Phi'(x)), Phi of the form of GELU that is meant.
#include "ops/elementwise.h"
#include "ops/gelu.h"

namespace headwater {
namespace {

std::vector<Type> infer(const InferContext& c) {
  c.require_count(2);
  c.require_dtype(0, DType::kF32);
  c.require_same_type(0, 1);
  (void)gelu_form(c.attrs);
  return {c.in(0)};
}

std::vector<Value> decompose(Graph&, const std::vector<Value>& inputs, const Attrs& attrs) {
  const Value x = inputs[0];
  const GeluFactor g = gelu_factor(x, gelu_form(attrs));
  return {mul(inputs[1], add(g.factor, mul(x, g.slope)))};
}

std::vector<Sample> samples() {
  const Type x{DType::kF32, {3, 5}};
  return {{.inputs = {x, x}, .attrs = {{"form", std::string("erf")}}},
          {.inputs = {x, x}, .attrs = {{"form", std::string("tanh")}}}};
}

void cpu(const KernelContext& c) {
  kernels::gelu_backward(gelu_form(c.attrs()), c.in<float>(0), c.in<float>(1), c.out<float>(0),
                         c.out_type(0).size());
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
