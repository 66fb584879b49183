#include "ops/elementwise.h"

namespace headwater {
namespace {
std::vector<Value> vjp(const VjpContext& c) {
  const Value x = c.in(0), dy = c.output_grads[0];
  return {div(dy, add(x, constant_like(x, 1)))};
}

void cpu(const KernelContext& c) {
  map_unary<float, float>(c, [](float x) { return std::log1p(x); });
}

void stablehlo(HloContext& c) { stablehlo_elementwise(c, "stablehlo.log_plus_one"); }
}  // namespace

const Op op::log1p = {.name = "log1p",
                      .infer = infer_unary_f32,
                      .vjp = vjp,
                      .cpu = cpu,
                      .stablehlo = stablehlo,
                      .cost = elementwise_cost,
                      .samples = positive_samples,
                      .in_place = {{0, 0}}};

Value log1p(Value x) { return x.graph().call1(op::log1p, {x}); }

}  // namespace headwater
