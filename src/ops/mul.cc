#include "ops/elementwise.h"

namespace headwater {
namespace {
std::vector<Value> vjp(const VjpContext& c) {
  const Value a = c.in(0), b = c.in(1), dy = c.output_grads[0];
  return {mul(dy, b), mul(dy, a)};
}

void cpu(const KernelContext& c) {
  map_wrapping(c, [](auto a, auto b) { return a * b; });
}

void stablehlo(HloContext& c) { stablehlo_elementwise(c, "stablehlo.multiply"); }
}  // namespace

const Op op::mul = {.name = "mul",
                    .infer = infer_binary_arithmetic,
                    .vjp = vjp,
                    .cpu = cpu,
                    .stablehlo = stablehlo,
                    .cost = elementwise_cost,
                    .samples = binary_samples,
                    .in_place = {{0, 0}, {0, 1}}};

Value mul(Value a, Value b) {
  const auto [x, y] = broadcast_both(a, b);
  return a.graph().call1(op::mul, {x, y});
}

}  // namespace headwater
