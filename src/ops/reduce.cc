#include "ops/reduce.h"

#include <algorithm>

namespace headwater {

std::vector<Type> infer_reduction(const InferContext& c) {
  c.require_count(1);
  c.require_dtype(0, DType::kF32);
  const std::vector<int64_t>& axes = c.attrs.get_ints("axes");
  c.require(normalized_axes(axes, c.in(0).rank()) == axes, "axes must be sorted and not negative");
  return {Type{DType::kF32, plan_reduction(c.in(0), axes).kept_shape()}};
}

std::vector<Sample> reduction_samples() {
  const Type x{DType::kF32, {2, 3, 4}};
  return {{.inputs = {x}, .attrs = {{"axes", Shape{2}}}},
          {.inputs = {x}, .attrs = {{"axes", Shape{0, 2}}}},
          {.inputs = {x}, .attrs = {{"axes", Shape{0, 1, 2}}}},
          {.inputs = {x}, .attrs = {{"axes", Shape{0}}}}};
}

ReductionPlan plan_reduction(const Type& type, std::span<const int64_t> axes) {
  ReductionPlan plan;
  const Strides strides = row_major_strides(type.shape);
  for (size_t axis = 0; axis < type.shape.size(); ++axis) {
    const bool removed =
        std::find(axes.begin(), axes.end(), static_cast<int64_t>(axis)) != axes.end();
    (removed ? plan.removed : plan.kept).add(type.shape[axis], strides[axis]);
  }
  return plan;
}

Value expand_reduced(Value reduced, const Shape& shape, const std::vector<int64_t>& axes) {
  std::vector<int64_t> kept;
  for (int64_t axis = 0; axis < static_cast<int64_t>(shape.size()); ++axis) {
    if (std::find(axes.begin(), axes.end(), axis) == axes.end()) kept.push_back(axis);
  }
  return broadcast(reduced, shape, kept);
}

void stablehlo_reduce(HloContext& c, std::string_view operation, double start) {
  const std::string initial = c.constant(start, {DType::kF32, {}});
  c.emit_output(fmt::format(
      "stablehlo.reduce({} init: {}) applies {} across dimensions = {} : ({}, tensor<f32>) -> {}",
      c.in(0), initial, operation, stablehlo_list(c.attrs().get_ints("axes")),
      stablehlo_type(c.in_type(0)), stablehlo_type(c.out_type(0))));
}

}  // namespace headwater
