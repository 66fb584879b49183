#include "kernels/reduce.h"

#include <algorithm>

#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduce.cc"
#include <hwy/foreach_target.h>

#include "base/checked.h"
#include "base/threads.h"
#include "kernels/blocking.h"
#include "kernels/isa.h"
#include "kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headwater::kernels {
namespace HWY_NAMESPACE {
namespace {

// out[j] = sum of x[m,j] over m in [m0, m1), rows in order.
void sum_rows(int64_t m0, int64_t m1, int64_t columns, const float* x, int64_t ld, float* out) {
  int64_t j = 0;
  for (; j + 4 * kLanes <= columns; j += 4 * kLanes) {
    VecF s0 = hn::Zero(F32()), s1 = s0, s2 = s0, s3 = s0;
    for (int64_t m = m0; m < m1; ++m) {
      const float* row = x + m * ld + j;
      s0 = hn::Add(s0, hn::LoadU(F32(), row));
      s1 = hn::Add(s1, hn::LoadU(F32(), row + kLanes));
      s2 = hn::Add(s2, hn::LoadU(F32(), row + 2 * kLanes));
      s3 = hn::Add(s3, hn::LoadU(F32(), row + 3 * kLanes));
    }
    hn::StoreU(s0, F32(), out + j);
    hn::StoreU(s1, F32(), out + j + kLanes);
    hn::StoreU(s2, F32(), out + j + 2 * kLanes);
    hn::StoreU(s3, F32(), out + j + 3 * kLanes);
  }
  for (; j < columns; j += kLanes) {
    VecF s = hn::Zero(F32());
    for (int64_t m = m0; m < m1; ++m) s = hn::Add(s, load_first(x + m * ld + j, columns - j));
    store_first(s, out + j, columns - j);
  }
}

// Sum of x[i] y[i] (or of x[i] when y is null) in double, each lane in order.
double dot_range(const float* x, const float* y, int64_t begin, int64_t end) {
  const hn::ScalableTag<double> f64;
  constexpr int64_t kStep = hn::MaxLanes(f64);
  const hn::Rebind<float, hn::ScalableTag<double>> half;
  auto s0 = hn::Zero(f64), s1 = s0, s2 = s0, s3 = s0;
  const auto term = [&](int64_t i) HW_INLINE_ATTR {
    const auto a = hn::PromoteTo(f64, hn::LoadU(half, x + i));
    return y != nullptr ? hn::Mul(a, hn::PromoteTo(f64, hn::LoadU(half, y + i))) : a;
  };
  int64_t i = begin;
  for (; i + 4 * kStep <= end; i += 4 * kStep) {
    s0 = hn::Add(s0, term(i));
    s1 = hn::Add(s1, term(i + kStep));
    s2 = hn::Add(s2, term(i + 2 * kStep));
    s3 = hn::Add(s3, term(i + 3 * kStep));
  }
  double total = hn::GetLane(hn::SumOfLanes(f64, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
  for (; i < end; ++i) total += double{x[i]} * (y != nullptr ? double{y[i]} : 1.0);
  return total;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace headwater::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headwater::kernels {
HWY_EXPORT(sum_rows);
HWY_EXPORT(dot_range);
namespace {

constexpr int64_t kRowBlock = 128;
constexpr int64_t kSumBlock = 65536;

double dot_blocks(const float* x, const float* y, int64_t n, void* workspace) {
  ensure_isa();
  double* const partial = Workspace(workspace).take<double>(ceil_div(n, kSumBlock));
  parallel_for(n, kSumBlock, [&](int64_t begin, int64_t end) {
    partial[begin / kSumBlock] = HWY_DYNAMIC_DISPATCH(dot_range)(x, y, begin, end);
  });
  double total = 0.0;
  for (int64_t b = 0; b < ceil_div(n, kSumBlock); ++b) total += partial[b];
  return total;
}

}  // namespace

int64_t column_sums_workspace_bytes(int64_t rows, int64_t columns) {
  return (ceil_div(rows, kRowBlock) + 1) * floats_to_bytes(columns);
}

void column_sums(int64_t rows, int64_t columns, const float* x, int64_t ld, float beta, float* out,
                 void* workspace) {
  ensure_isa();
  const int64_t blocks = ceil_div(rows, kRowBlock);
  float* const partial = Workspace(workspace).take<float>((blocks + 1) * columns);
  parallel_for(rows, kRowBlock, [&](int64_t m0, int64_t m1) {
    HWY_DYNAMIC_DISPATCH(sum_rows)(m0, m1, columns, x, ld, partial + m0 / kRowBlock * columns);
  });
  float* const total = partial + blocks * columns;
  HWY_DYNAMIC_DISPATCH(sum_rows)(0, blocks, columns, partial, columns, total);
  for (int64_t j = 0; j < columns; ++j) out[j] = total[j] + (beta == 0.0f ? 0.0f : beta * out[j]);
}

int64_t sum_workspace_bytes(int64_t n) {
  return round_up(ceil_div(n, kSumBlock) * static_cast<int64_t>(sizeof(double)), kCacheLine);
}

double sum(const float* x, int64_t n, void* workspace) {
  return dot_blocks(x, nullptr, n, workspace);
}
double sum_of_squares(const float* x, int64_t n, void* workspace) {
  return dot_blocks(x, x, n, workspace);
}
double dot(const float* x, const float* y, int64_t n, void* workspace) {
  return dot_blocks(x, y, n, workspace);
}

}  // namespace headwater::kernels
#endif  // HWY_ONCE
