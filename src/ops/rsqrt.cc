#include "ops/elementwise.h"

namespace headwater {
namespace {
std::vector<Value> vjp(const VjpContext& c) {
  const Value y = c.outputs[0], dy = c.output_grads[0];
  return {mul(mul(dy, constant_like(y, -0.5)), mul(y, mul(y, y)))};
}

void cpu(const KernelContext& c) {
  map_unary<float, float>(c, [](float x) { return 1.0f / std::sqrt(x); });
}

void stablehlo(HloContext& c) { stablehlo_elementwise(c, "stablehlo.rsqrt"); }
}  // namespace

const Op op::rsqrt = {.name = "rsqrt",
                      .infer = infer_unary_f32,
                      .vjp = vjp,
                      .cpu = cpu,
                      .stablehlo = stablehlo,
                      .cost = elementwise_cost,
                      .samples = positive_samples,
                      .in_place = {{0, 0}}};

Value rsqrt(Value x) { return x.graph().call1(op::rsqrt, {x}); }

}  // namespace headwater
