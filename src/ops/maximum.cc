#include "ops/elementwise.h"

namespace headwater {
namespace {
std::vector<Value> vjp(const VjpContext& c) {
  const Value a = c.in(0), b = c.in(1), dy = c.output_grads[0];
  return {select(compare(a, b, Direction::kLess), constant_like(dy, 0), dy),
          select(compare(a, b, Direction::kLess), dy, constant_like(dy, 0))};
}

void cpu(const KernelContext& c) {
  // A NaN on either side stays.  NOLINTNEXTLINE(misc-redundant-expression)
  map_arithmetic(c, [](auto a, auto b) { return a < b || b != b ? b : a; });
}

void stablehlo(HloContext& c) { stablehlo_elementwise(c, "stablehlo.maximum"); }
}  // namespace

const Op op::maximum = {.name = "maximum",
                        .infer = infer_binary_arithmetic,
                        .vjp = vjp,
                        .cpu = cpu,
                        .stablehlo = stablehlo,
                        .cost = elementwise_cost,
                        .samples = binary_samples,
                        .in_place = {{0, 0}, {0, 1}}};

Value maximum(Value a, Value b) {
  const auto [x, y] = broadcast_both(a, b);
  return a.graph().call1(op::maximum, {x, y});
}

}  // namespace headwater
