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
    for (int64_t k = 1; k < count; ++k) {
      if (x[base + k * stride] > x[base + best * stride]) best = k;
    }
    y[i] = static_cast<int32_t>(best);
  });
}

std::vector<Sample> samples() {
  const Type x{DType::kF32, {3, 5}};
  return {{.inputs = {x}, .attrs = {{"axis", int64_t{1}}}, .differentiable = false},
          {.inputs = {x}, .attrs = {{"axis", int64_t{0}}}, .differentiable = false}};
}

}  // namespace

const Op op::argmax = {
    .name = "argmax", .infer = infer, .cpu = cpu, .cost = elementwise_cost, .samples = samples};

Value argmax(Value x, int64_t axis) {
  axis = normalized_axes({axis}, x.type().rank())[0];
  return x.graph().call1(op::argmax, {x}, {{"axis", axis}});
}

}  // namespace headwater
