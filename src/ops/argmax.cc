// The lowest index of the largest element. NaN counts as minus infinity.
#include <limits>

#include "ops/reduce.h"

namespace headwater {
namespace {

std::vector<Type> infer(const InferContext& c) {
  c.require_count(1);
  c.require_dtype(0, DType::kF32);
  const int64_t axis = c.attrs.get_int("axis");
  c.require(axis >= 0 && axis < c.in(0).rank(), "no such axis");
  c.require(c.shape(0)[static_cast<size_t>(axis)] > 0, "the axis is empty");
  return {Type{DType::kI32, plan_reduction(c.in(0), {&axis, 1}).kept_shape()}};
}

void cpu(const KernelContext& c) {
  const int64_t axis = c.attrs().get_int("axis");
  const ReductionPlan plan = plan_reduction(c.in_type(0), {&axis, 1});
  const int64_t count = plan.removed.extent[0], stride = plan.removed.strides[0];
  const float* x = c.in<float>(0);
  auto* y = c.out<int32_t>(0);
  for_each_strided(plan.kept.extents(), plan.kept.strides, [=](int64_t i, int64_t base) {
    int64_t best = 0;
    float largest = -std::numeric_limits<float>::infinity();
    for (int64_t k = 0; k < count; ++k) {
      const float value = x[base + k * stride];
      if (value > largest) largest = value, best = k;
    }
    y[i] = static_cast<int32_t>(best);
  });
}

std::vector<Sample> samples() {
  const Type x{DType::kF32, {3, 5}};
  return {{.inputs = {x}, .attrs = {{"axis", int64_t{1}}}, .differentiable = false},
          {.inputs = {x}, .attrs = {{"axis", int64_t{0}}}, .differentiable = false}};
}

constexpr std::string_view kLargerOrEarlier = R"(
    reducer(%a: tensor<f32>, %b: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>) {
      %larger = stablehlo.compare GT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %equal = stablehlo.compare EQ, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %earlier = stablehlo.compare LT, %i, %j, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %tie = stablehlo.and %equal, %earlier : tensor<i1>
      %first = stablehlo.or %larger, %tie : tensor<i1>
      %value = stablehlo.select %first, %a, %b : tensor<i1>, tensor<f32>
      %index = stablehlo.select %first, %i, %j : tensor<i1>, tensor<i32>
      stablehlo.return %value, %index : tensor<f32>, tensor<i32>
    })";

void stablehlo(HloContext& c) {
  const Type &x = c.in_type(0), real{DType::kF32, {}}, index{DType::kI32, {}};
  const int64_t axis = c.attrs().get_int("axis");
  const std::string lowest = c.constant(-std::numeric_limits<double>::infinity(), x);
  const std::string is_number = stablehlo_compare(c, "EQ", c.in(0), c.in(0), x);
  const std::string numbers = c.emit(stablehlo_select(is_number, c.in(0), lowest, x));
  const Type indices{DType::kI32, x.shape};
  const std::string iota =
      c.emit(fmt::format("stablehlo.iota dim = {} : {}", axis, stablehlo_type(indices)));
  const std::string no_value = c.constant(-std::numeric_limits<double>::infinity(), real);
  const std::string no_index = c.constant(std::numeric_limits<int32_t>::max(), index);
  const std::string found = c.emit(
      fmt::format("stablehlo.reduce({} init: {}), ({} init: {}) across dimensions = [{}] : "
                  "({}, {}, tensor<f32>, tensor<i32>) -> ({}, {}){}",
                  numbers, no_value, iota, no_index, axis, stablehlo_type(x),
                  stablehlo_type(indices), stablehlo_type({DType::kF32, c.out_type(0).shape}),
                  stablehlo_type(c.out_type(0)), kLargerOrEarlier),
      2);
  c.set_output(0, found + "#1");
}

}  // namespace

const Op op::argmax = {.name = "argmax",
                       .infer = infer,
                       .cpu = cpu,
                       .stablehlo = stablehlo,
                       .cost = elementwise_cost,
                       .samples = samples};

Value argmax(Value x, int64_t axis) {
  axis = normalized_axes({axis}, x.type().rank())[0];
  return x.graph().call1(op::argmax, {x}, {{"axis", axis}});
}

}  // namespace headwater
