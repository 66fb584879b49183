#include "ops/elementwise.h"

namespace headwater {
namespace {
std::vector<Value> vjp(const VjpContext& c) {
  const Value x = c.in(0), dy = c.output_grads[0];
  return {mul(dy, select(compare(x, constant_like(x, 0), Direction::kLess), constant_like(x, -1),
                         constant_like(x, 1)))};
}

void cpu(const KernelContext& c) {
  map_unary<float, float>(c, [](float x) { return std::fabs(x); });
}

void stablehlo(HloContext& c) { stablehlo_elementwise(c, "stablehlo.abs"); }
}  // namespace

const Op op::abs = {.name = "abs",
                    .infer = infer_unary_f32,
                    .vjp = vjp,
                    .cpu = cpu,
                    .stablehlo = stablehlo,
                    .cost = elementwise_cost,
                    .samples = positive_samples,
                    .in_place = {{0, 0}}};

Value abs(Value x) { return x.graph().call1(op::abs, {x}); }

}  // namespace headwater
