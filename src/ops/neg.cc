#include "ops/elementwise.h"

namespace headwater {
namespace {
std::vector<Value> vjp(const VjpContext& c) {
  const Value dy = c.output_grads[0];
  return {neg(dy)};
}

void cpu(const KernelContext& c) {
  map_unary<float, float>(c, [](float x) { return -x; });
}

void stablehlo(HloContext& c) { stablehlo_elementwise(c, "stablehlo.negate"); }
}  // namespace

const Op op::neg = {.name = "neg",
                    .infer = infer_unary_f32,
                    .vjp = vjp,
                    .cpu = cpu,
                    .stablehlo = stablehlo,
                    .cost = elementwise_cost,
                    .samples = unary_samples,
                    .in_place = {{0, 0}}};

Value neg(Value x) { return x.graph().call1(op::neg, {x}); }

}  // namespace headwater
