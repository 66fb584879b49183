#include "ops/elementwise.h"

namespace headwater {
namespace {
std::vector<Value> vjp(const VjpContext& c) {
  const Value y = c.outputs[0], dy = c.output_grads[0];
  return {mul(dy, sub(constant_like(y, 1), mul(y, y)))};
}

void cpu(const KernelContext& c) {
  map_unary<float, float>(c, [](float x) { return std::tanh(x); });
}

void stablehlo(HloContext& c) { stablehlo_elementwise(c, "stablehlo.tanh"); }
}  // namespace

const Op op::tanh = {.name = "tanh",
                     .infer = infer_unary_f32,
                     .vjp = vjp,
                     .cpu = cpu,
                     .stablehlo = stablehlo,
                     .cost = elementwise_cost,
                     .samples = unary_samples,
                     .in_place = {{0, 0}}};

Value tanh(Value x) { return x.graph().call1(op::tanh, {x}); }

}  // namespace headwater
