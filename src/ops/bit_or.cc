#include "ops/elementwise.h"

namespace headwater {
namespace {
void cpu(const KernelContext& c) {
  if (c.in_type(0).dtype == DType::kU32) {
    map_binary<uint32_t, uint32_t>(c, [](uint32_t a, uint32_t b) { return a | b; });
  } else {
    map_binary<uint8_t, uint8_t>(c,
                                 [](uint8_t a, uint8_t b) { return static_cast<uint8_t>(a | b); });
  }
}

void stablehlo(HloContext& c) { stablehlo_elementwise(c, "stablehlo.or"); }
}  // namespace

const Op op::bit_or = {.name = "bit_or",
                       .infer = infer_binary_bits,
                       .cpu = cpu,
                       .stablehlo = stablehlo,
                       .cost = elementwise_cost,
                       .samples = bit_samples,
                       .in_place = {{0, 0}, {0, 1}}};

Value bit_or(Value a, Value b) {
  const auto [x, y] = broadcast_both(a, b);
  return a.graph().call1(op::bit_or, {x, y});
}

}  // namespace headwater
