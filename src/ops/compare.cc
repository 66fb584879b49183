#include <array>

#include "ops/elementwise.h"

namespace headwater {
namespace {

std::vector<Type> infer(const InferContext& c) {
  c.require_count(2);
  c.require_same_type(0, 1);
  const DType dtype = c.in(0).dtype;
  c.require(dtype == DType::kF32 || dtype == DType::kI32 || dtype == DType::kU32,
            "wants f32, i32 or u32");
  const int64_t direction = c.attrs.get_int("direction");
  c.require(direction >= 0 && direction <= 5, "no such direction");
  return {Type{DType::kPred, c.shape(0)}};
}

template <class T>
void compare_as(const KernelContext& c, Direction direction) {
  switch (direction) {
    case Direction::kEqual: return map_binary<uint8_t, T>(c, [](T a, T b) { return a == b; });
    case Direction::kNotEqual: return map_binary<uint8_t, T>(c, [](T a, T b) { return a != b; });
    case Direction::kLess: return map_binary<uint8_t, T>(c, [](T a, T b) { return a < b; });
    case Direction::kLessEqual: return map_binary<uint8_t, T>(c, [](T a, T b) { return a <= b; });
    case Direction::kGreater: return map_binary<uint8_t, T>(c, [](T a, T b) { return a > b; });
    case Direction::kGreaterEqual:
      return map_binary<uint8_t, T>(c, [](T a, T b) { return a >= b; });
  }
}

void cpu(const KernelContext& c) {
  const auto direction = static_cast<Direction>(c.attrs().get_int("direction"));
  with_arithmetic_type(c.in_type(0).dtype,
                       [&](auto zero) { compare_as<decltype(zero)>(c, direction); });
}

std::vector<Sample> samples() {
  std::vector<Sample> all;
  for (int64_t direction = 0; direction <= 5; ++direction) {
    for (const DType dtype : {DType::kF32, DType::kI32, DType::kU32}) {
      const Type type{dtype, {3, 4}};
      all.push_back(
          {.inputs = {type, type}, .attrs = {{"direction", direction}}, .differentiable = false});
    }
  }
  return all;
}

void stablehlo(HloContext& c) {
  constexpr std::array kNames = {"EQ", "NE", "LT", "LE", "GT", "GE"};
  const auto direction = static_cast<size_t>(c.attrs().get_int("direction"));
  c.set_output(0, stablehlo_compare(c, kNames[direction], c.in(0), c.in(1), c.in_type(0)));
}

}  // namespace

const Op op::compare = {.name = "compare",
                        .infer = infer,
                        .cpu = cpu,
                        .stablehlo = stablehlo,
                        .cost = elementwise_cost,
                        .samples = samples};

Value compare(Value a, Value b, Direction direction) {
  const auto [x, y] = broadcast_both(a, b);
  return a.graph().call1(op::compare, {x, y}, {{"direction", static_cast<int64_t>(direction)}});
}

}  // namespace headwater
