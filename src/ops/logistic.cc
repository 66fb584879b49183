#include "ops/elementwise.h"

namespace headwater {
namespace {
std::vector<Value> vjp(const VjpContext& c) {
  const Value y = c.outputs[0], dy = c.output_grads[0];
  return {mul(dy, mul(y, sub(constant_like(y, 1), y)))};
}

void cpu(const KernelContext& c) {
  map_unary<float, float>(c, [](float x) {
    return x >= 0 ? 1.0f / (1.0f + std::exp(-x)) : std::exp(x) / (1.0f + std::exp(x));
  });
}

void stablehlo(HloContext& c) { stablehlo_elementwise(c, "stablehlo.logistic"); }
}  // namespace

const Op op::logistic = {.name = "logistic",
                         .infer = infer_unary_f32,
                         .vjp = vjp,
                         .cpu = cpu,
                         .stablehlo = stablehlo,
                         .cost = elementwise_cost,
                         .samples = unary_samples,
                         .in_place = {{0, 0}}};

Value logistic(Value x) { return x.graph().call1(op::logistic, {x}); }

}  // namespace headwater
