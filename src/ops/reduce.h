// What reductions share: shape rule, and a walk that sums each result in one fixed order.
#pragma once

#include "ops/elementwise.h"
#include "ops/strides.h"

namespace headwater {

std::vector<Type> infer_reduction(const InferContext& c);
std::vector<Sample> reduction_samples();

// Some axes of an operand: extents and strides.
struct AxisSet {
  std::array<int64_t, kMaxRank> extent{};
  Strides strides{};
  size_t rank = 0;

  std::span<const int64_t> extents() const { return {extent.data(), rank}; }
  void add(int64_t of_axis, int64_t stride) {
    extent[rank] = of_axis;
    strides[rank++] = stride;
  }
};

// The operand's axes split into kept and removed ones.
struct ReductionPlan {
  AxisSet kept, removed;

  Shape kept_shape() const { return {kept.extents().begin(), kept.extents().end()}; }
};
ReductionPlan plan_reduction(const Type& type, std::span<const int64_t> axes);

// dy with the removed axes back: repeated over them.
Value expand_reduced(Value reduced, const Shape& shape, const std::vector<int64_t>& axes);

// "stablehlo.add" over the axes, from `start`.
void stablehlo_reduce(HloContext& c, std::string_view operation, double start);

// y[i] = fold over the removed axes, in row-major order, from `start`.
template <class F>
void reduce_f32(const KernelContext& c, double start, F fold) {
  const ReductionPlan plan = plan_reduction(c.in_type(0), c.attrs().get_ints("axes"));
  const float* x = c.in<float>(0);
  float* y = c.out<float>(0);
  int64_t count = 1;
  for (const int64_t extent : plan.removed.extents()) count *= extent;
  for_each_strided(plan.kept.extents(), plan.kept.strides, [&](int64_t i, int64_t base) {
    double result = start;
    StridedWalk walk(plan.removed.extents(), plan.removed.strides);
    for (int64_t k = 0; k < count; ++k, walk.next()) {
      result = fold(result, static_cast<double>(x[base + walk.offset()]));
    }
    y[i] = static_cast<float>(result);
  });
}

}  // namespace headwater
