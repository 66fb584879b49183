#include "ops/elementwise.h"

namespace headwater {
namespace {
std::vector<Value> vjp(const VjpContext& c) {
  const Value dy = c.output_grads[0];
  return {dy, neg(dy)};
}

void cpu(const KernelContext& c) {
  map_wrapping(c, [](auto a, auto b) { return a - b; });
}

void stablehlo(HloContext& c) { stablehlo_elementwise(c, "stablehlo.subtract"); }
}  // namespace

const Op op::sub = {.name = "sub",
                    .infer = infer_binary_arithmetic,
                    .vjp = vjp,
                    .cpu = cpu,
                    .stablehlo = stablehlo,
                    .cost = elementwise_cost,
                    .samples = binary_samples,
                    .in_place = {{0, 0}, {0, 1}}};

Value sub(Value a, Value b) {
  const auto [x, y] = broadcast_both(a, b);
  return a.graph().call1(op::sub, {x, y});
}

}  // namespace headwater
