#include "ops/elementwise.h"

namespace headwater {
namespace {
std::vector<Value> vjp(const VjpContext& c) {
  const Value dy = c.output_grads[0];
  return {dy, dy};
}

void cpu(const KernelContext& c) {
  map_wrapping(c, [](auto a, auto b) { return a + b; });
}

void stablehlo(HloContext& c) { stablehlo_elementwise(c, "stablehlo.add"); }
}  // namespace

const Op op::add = {.name = "add",
                    .infer = infer_binary_arithmetic,
                    .vjp = vjp,
                    .cpu = cpu,
                    .stablehlo = stablehlo,
                    .cost = elementwise_cost,
                    .samples = binary_samples,
                    .in_place = {{0, 0}, {0, 1}}};

Value add(Value a, Value b) {
  const auto [x, y] = broadcast_both(a, b);
  return a.graph().call1(op::add, {x, y});
}

}  // namespace headwater
