#include "ops/elementwise.h"

namespace headwater {
namespace {
std::vector<Value> vjp(const VjpContext& c) {
  const Value y = c.outputs[0], dy = c.output_grads[0];
  return {div(mul(dy, constant_like(y, 0.5)), y)};
}

void cpu(const KernelContext& c) {
  map_unary<float, float>(c, [](float x) { return std::sqrt(x); });
}

void stablehlo(HloContext& c) { stablehlo_elementwise(c, "stablehlo.sqrt"); }
}  // namespace

const Op op::sqrt = {.name = "sqrt",
                     .infer = infer_unary_f32,
                     .vjp = vjp,
                     .cpu = cpu,
                     .stablehlo = stablehlo,
                     .cost = elementwise_cost,
                     .samples = positive_samples,
                     .in_place = {{0, 0}}};

Value sqrt(Value x) { return x.graph().call1(op::sqrt, {x}); }

}  // namespace headwater
