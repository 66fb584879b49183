// What reductions share: shape rule, and a walk that sums each result in one fixed order.
#pragma once

#include "ops/elementwise.h"
#include "ops/strides.h"

namespace headwater {

std::vector<Type> infer_reduction(const InferContext& c);
std::vector<Sample> reduction_samples();

// The operand's axes split into kept and removed ones.
struct ReductionPlan {
  Shape kept, removed;
  std::vector<int64_t> kept_strides, removed_strides;
};
ReductionPlan plan_reduction(const Type& type, const std::vector<int64_t>& axes);

// dy with the removed axes back: repeated over them.
Value expand_reduced(Value reduced, const Shape& shape, const std::vector<int64_t>& axes);

// y[i] = fold over the removed axes, in row-major order, from `start`.
template <class F>
void reduce_f32(const KernelContext& c, double start, F fold) {
  const ReductionPlan plan = plan_reduction(c.in_type(0), c.attrs().get_ints("axes"));
  const float* x = c.in<float>(0);
  float* y = c.out<float>(0);
  const int64_t count = element_count(plan.removed);
  std::vector<int64_t> offsets(static_cast<size_t>(count));
  for_each_strided(plan.removed, plan.removed_strides,
                   [&](int64_t i, int64_t j) { offsets[static_cast<size_t>(i)] = j; });
  for_each_strided(plan.kept, plan.kept_strides, [&](int64_t i, int64_t base) {
    double result = start;
    for (const int64_t offset : offsets)
      result = fold(result, static_cast<double>(x[base + offset]));
    y[i] = static_cast<float>(result);
  });
}

}  // namespace headwater
