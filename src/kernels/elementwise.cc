#include "kernels/elementwise.h"

#include <algorithm>

#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise.cc"
#include <hwy/foreach_target.h>

#include "base/threads.h"
#include "kernels/isa.h"
#include "kernels/map-inl.h"
#include "kernels/micro_gemm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headwater::kernels {
namespace HWY_NAMESPACE {
namespace {

void add_range(const float* a, const float* b, float* y, int64_t begin, int64_t end) {
  for_vectors(begin, end,
              [=](auto load, auto store) HW_INLINE_ATTR { store(hn::Add(load(a), load(b)), y); });
}

void multiply_range(const float* a, const float* b, float* y, int64_t begin, int64_t end) {
  for_vectors(begin, end,
              [=](auto load, auto store) HW_INLINE_ATTR { store(hn::Mul(load(a), load(b)), y); });
}

void scale_range(float alpha, const float* x, float* y, int64_t begin, int64_t end) {
  for_vectors(begin, end, [=](auto load, auto store) HW_INLINE_ATTR {
    store(hn::Mul(set(alpha), load(x)), y);
  });
}

void axpy_range(float alpha, const float* x, float* y, int64_t begin, int64_t end) {
  for_vectors(begin, end, [=](auto load, auto store) HW_INLINE_ATTR {
    store(hn::MulAdd(set(alpha), load(x), load(y)), y);
  });
}

void sigmoid_range(const float* x, float* y, int64_t begin, int64_t end) {
  for_vectors(begin, end,
              [=](auto load, auto store) HW_INLINE_ATTR { store(sigmoid(load(x)), y); });
}

void transpose_rows(int64_t r0, int64_t r1, int64_t rows, int64_t columns, const float* x,
                    float* y) {
  constexpr int64_t kBlock = 64;
  for (int64_t c = 0; c < columns; c += kBlock)
    transpose_block(r1 - r0, std::min(kBlock, columns - c), x + r0 * columns + c, columns,
                    y + c * rows + r0, rows);
}

void softmax_row(int64_t n, const float* x, float* y) {
  const VecF top = set(*std::max_element(x, x + n));
  VecF total = hn::Zero(F32());
  for_vectors(0, n, [&, x, y](auto load, auto store) HW_INLINE_ATTR {
    store(exp_bounded(hn::Sub(load(x), top)), y);
  });
  for_vectors(0, n, [&, y](auto load, auto) HW_INLINE_ATTR { total = hn::Add(total, load(y)); });
  const VecF factor = set(1.0f / sum_lanes(total));
  for_vectors(0, n,
              [&, y](auto load, auto store) HW_INLINE_ATTR { store(hn::Mul(load(y), factor), y); });
}

void softmax_rows(int64_t r0, int64_t r1, int64_t columns, const float* x, float* y) {
  for (int64_t r = r0; r < r1; ++r) softmax_row(columns, x + r * columns, y + r * columns);
}

void softmax_gradient_rows(int64_t r0, int64_t r1, int64_t columns, const float* y, const float* dy,
                           float* dx) {
  for (int64_t r = r0; r < r1; ++r) {
    const float* const p = y + r * columns;
    const float* const g = dy + r * columns;
    float* const out = dx + r * columns;
    VecF total = hn::Zero(F32());
    for_vectors(0, columns, [&](auto load, auto) HW_INLINE_ATTR {
      total = hn::MulAdd(load(p), load(g), total);
    });
    const VecF mean = set(sum_lanes(total));
    for_vectors(0, columns, [&](auto load, auto store) HW_INLINE_ATTR {
      store(hn::Mul(load(p), hn::Sub(load(g), mean)), out);
    });
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace headwater::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headwater::kernels {
HWY_EXPORT(add_range);
HWY_EXPORT(multiply_range);
HWY_EXPORT(scale_range);
HWY_EXPORT(axpy_range);
HWY_EXPORT(sigmoid_range);
HWY_EXPORT(transpose_rows);
HWY_EXPORT(softmax_rows);
HWY_EXPORT(softmax_gradient_rows);
namespace {
constexpr int64_t kGrain = 16384;

// Rows of a task: about kGrain elements.
int64_t row_grain(int64_t columns) {
  return std::max<int64_t>(1, kGrain / std::max<int64_t>(1, columns));
}
}  // namespace

void fill(float value, float* y, int64_t n) {
  parallel_for(n, 4 * kGrain, [=](int64_t b, int64_t e) { std::fill(y + b, y + e, value); });
}

void add(const float* a, const float* b, float* y, int64_t n) {
  ensure_isa();
  parallel_for(n, kGrain, [=](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(add_range)(a, b, y, begin, end);
  });
}

void multiply(const float* a, const float* b, float* y, int64_t n) {
  ensure_isa();
  parallel_for(n, kGrain, [=](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(multiply_range)(a, b, y, begin, end);
  });
}

void scale(float alpha, const float* x, float* y, int64_t n) {
  ensure_isa();
  parallel_for(n, kGrain, [=](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(scale_range)(alpha, x, y, begin, end);
  });
}

void axpy(float alpha, const float* x, float* y, int64_t n) {
  ensure_isa();
  parallel_for(n, kGrain, [=](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(axpy_range)(alpha, x, y, begin, end);
  });
}

void add_bias(int64_t rows, int64_t columns, const float* bias, const float* x, float* y) {
  ensure_isa();
  parallel_for(rows, row_grain(columns), [=](int64_t r0, int64_t r1) {
    for (int64_t r = r0; r < r1; ++r)
      HWY_DYNAMIC_DISPATCH(add_range)(x + r * columns, bias, y + r * columns, 0, columns);
  });
}

void transpose(int64_t rows, int64_t columns, const float* x, float* y) {
  ensure_isa();
  parallel_for(rows, 64, [=](int64_t r0, int64_t r1) {
    HWY_DYNAMIC_DISPATCH(transpose_rows)(r0, r1, rows, columns, x, y);
  });
}

void softmax_forward(int64_t rows, int64_t columns, const float* x, float* y) {
  ensure_isa();
  if (columns <= 0) return;
  parallel_for(rows, row_grain(columns), [=](int64_t r0, int64_t r1) {
    HWY_DYNAMIC_DISPATCH(softmax_rows)(r0, r1, columns, x, y);
  });
}

void softmax_backward(int64_t rows, int64_t columns, const float* y, const float* dy, float* dx) {
  ensure_isa();
  parallel_for(rows, row_grain(columns), [=](int64_t r0, int64_t r1) {
    HWY_DYNAMIC_DISPATCH(softmax_gradient_rows)(r0, r1, columns, y, dy, dx);
  });
}

void sigmoid(const float* x, float* y, int64_t n) {
  ensure_isa();
  parallel_for(n, kGrain, [=](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(sigmoid_range)(x, y, begin, end);
  });
}

}  // namespace headwater::kernels
#endif  // HWY_ONCE
