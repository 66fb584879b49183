#include "ops/elementwise.h"

namespace headwater {
namespace {

std::vector<Value> vjp(const VjpContext& c) {
  const Value b = c.in(1), y = c.outputs[0], dy = c.output_grads[0];
  return {div(dy, b), neg(div(mul(dy, y), b))};
}

// Integers: a division by zero gives 0, and the one quotient that overflows (minimum / -1) gives
// the minimum.
template <class T>
T divide(T a, T b) {
  if constexpr (std::is_same_v<T, float>) {
    return a / b;
  } else if constexpr (std::is_signed_v<T>) {
    if (b == 0) return 0;
    return b == -1 ? static_cast<T>(0u - static_cast<uint32_t>(a)) : a / b;
  } else {
    return b == 0 ? 0 : a / b;
  }
}

void cpu(const KernelContext& c) {
  map_arithmetic(c, [](auto a, auto b) { return divide(a, b); });
}

void stablehlo(HloContext& c) {
  if (c.out_type(0).dtype == DType::kF32) return stablehlo_elementwise(c, "stablehlo.divide");
  const std::string type = stablehlo_type(c.out_type(0));
  const std::string zero = c.constant(0, c.out_type(0)), one = c.constant(1, c.out_type(0));
  const std::string is_zero = stablehlo_compare(c, "EQ", c.in(1), zero, c.in_type(1));
  const auto if_zero = [&](const std::string& then, const std::string& otherwise) {
    return c.emit(stablehlo_select(is_zero, then, otherwise, c.out_type(0)));
  };
  const std::string divisor = if_zero(one, c.in(1));
  const std::string quotient =
      c.emit(fmt::format("stablehlo.divide {}, {} : {}", c.in(0), divisor, type));
  c.set_output(0, if_zero(zero, quotient));
}

}  // namespace

const Op op::div = {.name = "div",
                    .infer = infer_binary_arithmetic,
                    .vjp = vjp,
                    .cpu = cpu,
                    .stablehlo = stablehlo,
                    .cost = elementwise_cost,
                    .samples = binary_samples,
                    .in_place = {{0, 0}, {0, 1}}};

Value div(Value a, Value b) {
  const auto [x, y] = broadcast_both(a, b);
  return a.graph().call1(op::div, {x, y});
}

}  // namespace headwater
