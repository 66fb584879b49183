#include "ops/elementwise.h"

namespace headwater {
namespace {
void cpu(const KernelContext& c) {
  map_binary<uint32_t, uint32_t>(c, [](uint32_t a, uint32_t b) { return b < 32 ? a >> b : 0; });
}

void stablehlo(HloContext& c) { stablehlo_elementwise(c, "stablehlo.shift_right_logical"); }
}  // namespace

const Op op::shift_right = {.name = "shift_right",
                            .infer = infer_shift,
                            .cpu = cpu,
                            .stablehlo = stablehlo,
                            .cost = elementwise_cost,
                            .samples = bit_samples,
                            .in_place = {{0, 0}, {0, 1}}};

Value shift_right(Value a, Value b) {
  const auto [x, y] = broadcast_both(a, b);
  return a.graph().call1(op::shift_right, {x, y});
}

}  // namespace headwater
