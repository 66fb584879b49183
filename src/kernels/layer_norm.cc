#include "kernels/layer_norm.h"

#include <algorithm>
#include <cmath>

#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/layer_norm.cc"
#include <hwy/foreach_target.h>

#include "base/checked.h"
#include "base/threads.h"
#include "kernels/blocking.h"
#include "kernels/isa.h"
#include "kernels/map-inl.h"
#include "kernels/reduce.h"

#ifndef HEADWATER_KERNELS_LAYER_NORM_CC_
#define HEADWATER_KERNELS_LAYER_NORM_CC_
namespace headwater::kernels {

struct LayerNormForward {
  LayerNormShape shape;
  const float* x;
  const float* h;  // null: plain layer normalisation
  Dropout dropout;
  const float* gamma;
  const float* beta;
  float* sum;  // x + dropout(h), only with h
  float* y;
  float* mean;
  float* rstd;
};

struct LayerNormBackward {
  LayerNormShape shape;
  const float* x;
  Dropout dropout;
  const float* gamma;
  const float* mean;
  const float* rstd;
  const float* dy;
  float* dx;
  float* dh;  // null: plain layer normalisation
};

}  // namespace headwater::kernels
#endif  // HEADWATER_KERNELS_LAYER_NORM_CC_

HWY_BEFORE_NAMESPACE();
namespace headwater::kernels {
namespace HWY_NAMESPACE {
namespace {

// out[i] = x[i] + dropout(h)[i] of one row that starts at dropout index `index`.
void add_dropped_row(int64_t size, const float* x, const float* h, const DropoutMask* mask,
                     int64_t index, float* out) {
  if (mask == nullptr)
    return for_vectors(0, size, [=](auto load, auto store) HW_INLINE_ATTR {
      store(hn::Add(load(x), load(h)), out);
    });
  for_vector_groups(size, [=](int64_t i, auto group, int64_t count) HW_INLINE_ATTR {
    VecF factor[decltype(group)::value];
    mask->factors(index + i, factor);
    for_each_vector(group, [&](auto v) HW_INLINE_ATTR {
      const int64_t at = i + v * kLanes, left = count - v * kLanes;
      const VecF sum = hn::MulAdd(load_first(h + at, left), factor[v], load_first(x + at, left));
      store_first(sum, out + at, left);
    });
  });
}

// y[i] = x[i] * factor of one row.
void drop_row(int64_t size, const float* x, const DropoutMask& mask, int64_t index, float* y) {
  for_vector_groups(size, [=, &mask](int64_t i, auto group, int64_t count) HW_INLINE_ATTR {
    VecF factor[decltype(group)::value];
    mask.factors(index + i, factor);
    for_each_vector(group, [&](auto v) HW_INLINE_ATTR {
      const int64_t at = i + v * kLanes, left = count - v * kLanes;
      store_first(hn::Mul(load_first(x + at, left), factor[v]), y + at, left);
    });
  });
}

void normalize_row(const LayerNormForward& f, int64_t row, const float* x) {
  const int64_t size = f.shape.size;
  VecF total = hn::Zero(F32());
  for_vectors(0, size, [&](auto load, auto) HW_INLINE_ATTR { total = hn::Add(total, load(x)); });
  const float mean = sum_lanes(total) / static_cast<float>(size);
  VecF squares = hn::Zero(F32());
  int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    const VecF d = hn::Sub(hn::LoadU(F32(), x + i), set(mean));
    squares = hn::MulAdd(d, d, squares);
  }
  float variance = sum_lanes(squares);
  for (; i < size; ++i) variance += (x[i] - mean) * (x[i] - mean);
  const float rstd = 1.0f / std::sqrt(variance / static_cast<float>(size) + f.shape.eps);
  f.mean[row] = mean;
  f.rstd[row] = rstd;
  float* const y = f.y + row * size;
  for_vectors(0, size, [=, &f](auto load, auto store) HW_INLINE_ATTR {
    const VecF normal = hn::Mul(hn::Sub(load(x), set(mean)), set(rstd));
    store(hn::MulAdd(normal, load(f.gamma), load(f.beta)), y);
  });
}

void layer_norm_rows(const LayerNormForward& f, int64_t r0, int64_t r1) {
  const int64_t size = f.shape.size;
  const DropoutMask mask(f.dropout);
  for (int64_t r = r0; r < r1; ++r) {
    const float* x = f.x + r * size;
    if (f.h != nullptr) {
      float* const sum = f.sum + r * size;
      add_dropped_row(size, x, f.h + r * size, f.dropout.active() ? &mask : nullptr, r * size, sum);
      x = sum;
    }
    normalize_row(f, r, x);
  }
}

// dx of one row; d_gamma and d_beta are added to.
void gradient_row(const LayerNormBackward& b, int64_t row, float* d_gamma, float* d_beta) {
  const int64_t size = b.shape.size;
  const float* const x = b.x + row * size;
  const float* const dy = b.dy + row * size;
  float* const dx = b.dx + row * size;
  const VecF mean = set(b.mean[row]), rstd = set(b.rstd[row]);
  VecF sum_g = hn::Zero(F32()), sum_gn = hn::Zero(F32());
  const float* const gamma = b.gamma;
  for_vectors(0, size, [&](auto load, auto store) HW_INLINE_ATTR {
    // Missing lanes of the tail have dy = 0 and so add nothing.
    const VecF normal = hn::Mul(hn::Sub(load(x), mean), rstd), d = load(dy);
    const VecF g = hn::Mul(d, load(gamma));
    sum_g = hn::Add(sum_g, g);
    sum_gn = hn::MulAdd(g, normal, sum_gn);
    store(hn::MulAdd(d, normal, load(d_gamma)), d_gamma);
    store(hn::Add(d, load(d_beta)), d_beta);
  });
  const float inverse = 1.0f / static_cast<float>(size);
  const VecF mean_g = set(sum_lanes(sum_g) * inverse), mean_gn = set(sum_lanes(sum_gn) * inverse);
  for_vectors(0, size, [&](auto load, auto store) HW_INLINE_ATTR {
    const VecF normal = hn::Mul(hn::Sub(load(x), mean), rstd);
    const VecF g = hn::Mul(load(dy), load(gamma));
    store(hn::Mul(rstd, hn::NegMulAdd(normal, mean_gn, hn::Sub(g, mean_g))), dx);
  });
}

// d_parameters: [2, size], gradients of gamma and beta over these rows.
void layer_norm_gradient_rows(const LayerNormBackward& b, int64_t r0, int64_t r1,
                              float* d_parameters) {
  const int64_t size = b.shape.size;
  const DropoutMask mask(b.dropout);
  std::fill(d_parameters, d_parameters + 2 * size, 0.0f);
  for (int64_t r = r0; r < r1; ++r) {
    gradient_row(b, r, d_parameters, d_parameters + size);
    if (b.dh == nullptr) continue;
    const float* const dx = b.dx + r * size;
    float* const dh = b.dh + r * size;
    if (b.dropout.active()) drop_row(size, dx, mask, r * size, dh);
    else if (dh != dx) std::copy(dx, dx + size, dh);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace headwater::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headwater::kernels {
HWY_EXPORT(layer_norm_rows);
HWY_EXPORT(layer_norm_gradient_rows);
namespace {

constexpr int64_t kForwardRows = 32;
constexpr int64_t kBackwardRows = 64;  // rows of one partial sum of d_gamma and d_beta

void run(const LayerNormForward& f) {
  ensure_isa();
  parallel_for(f.shape.rows, kForwardRows, [&](int64_t r0, int64_t r1) {
    HWY_DYNAMIC_DISPATCH(layer_norm_rows)(f, r0, r1);
  });
}

void run(const LayerNormBackward& b, float accumulate, float* d_gamma, float* d_beta,
         void* workspace) {
  ensure_isa();
  const int64_t rows = b.shape.rows, size = b.shape.size;
  const int64_t blocks = ceil_div(rows, kBackwardRows);
  Workspace memory(workspace);
  float* const partial = memory.take<float>(blocks * 2 * size);
  void* const sums = memory.take<std::byte>(column_sums_workspace_bytes(blocks, size));
  parallel_for(rows, kBackwardRows, [&](int64_t r0, int64_t r1) {
    HWY_DYNAMIC_DISPATCH(layer_norm_gradient_rows)
    (b, r0, r1, partial + r0 / kBackwardRows * 2 * size);
  });
  column_sums(blocks, size, partial, 2 * size, accumulate, d_gamma, sums);
  column_sums(blocks, size, partial + size, 2 * size, accumulate, d_beta, sums);
}

}  // namespace

void layer_norm_forward(const LayerNormShape& shape, const float* x, const float* gamma,
                        const float* beta, float* y, float* mean, float* rstd) {
  run({shape, x, nullptr, {}, gamma, beta, nullptr, y, mean, rstd});
}

int64_t layer_norm_backward_workspace_bytes(const LayerNormShape& shape) {
  const int64_t blocks = ceil_div(shape.rows, kBackwardRows);
  return floats_to_bytes(blocks * 2 * shape.size) + column_sums_workspace_bytes(blocks, shape.size);
}

void layer_norm_backward(const LayerNormShape& shape, const float* x, const float* gamma,
                         const float* mean, const float* rstd, const float* dy, float* dx,
                         float accumulate, float* d_gamma, float* d_beta, void* workspace) {
  run({shape, x, {}, gamma, mean, rstd, dy, dx, nullptr}, accumulate, d_gamma, d_beta, workspace);
}

void residual_layer_norm_forward(const LayerNormShape& shape, const float* x, const float* h,
                                 const Dropout& dropout, const float* gamma, const float* beta,
                                 float* sum, float* y, float* mean, float* rstd) {
  run({shape, x, h, dropout, gamma, beta, sum, y, mean, rstd});
}

void residual_layer_norm_backward(const LayerNormShape& shape, const float* sum,
                                  const Dropout& dropout, const float* gamma, const float* mean,
                                  const float* rstd, const float* dy, float* dx, float* dh,
                                  float accumulate, float* d_gamma, float* d_beta,
                                  void* workspace) {
  run({shape, sum, dropout, gamma, mean, rstd, dy, dx, dh}, accumulate, d_gamma, d_beta, workspace);
}

}  // namespace headwater::kernels
#endif  // HWY_ONCE
