#include "kernels/gemm.h"

#include <algorithm>

#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm.cc"
#include <hwy/foreach_target.h>

#include "base/checked.h"
#include "base/threads.h"
#include "kernels/blocking.h"
#include "kernels/isa.h"
#include "kernels/micro_gemm-inl.h"

#ifndef HEADWATER_KERNELS_GEMM_CC_
#define HEADWATER_KERNELS_GEMM_CC_
namespace headwater::kernels {

// One product, cut in k into blocks of kDepthBlock that are packed and multiplied one after the
// other. Every task of a block (a rectangle of C) is computed by one thread.
constexpr int64_t kDepthBlock = 1024;
static_assert(kDepthBlock % kMaxDepth == 0);

struct GemmJob {
  int64_t m, n, k;
  float alpha;
  Operand a, b;
  float beta;
  float* c;
  int64_t ldc;
  Epilogue epilogue;
  float* packed_a;         // [kMaxDepth piece][tile][depth][kTileRows], only when A is transposed
  float* packed_b;         // [kMaxDepth piece][sliver][depth][kSliver]
  int64_t k0 = 0, k1 = 0;  // the block at hand

  int64_t padded_m() const { return round_up(m, kMaxTileRows); }
  int64_t padded_n() const { return round_up(n, kMaxSliver); }
  bool last_block() const { return k1 == k; }
};

struct Rectangle {
  int64_t m0, m1, n0, n1;
};

}  // namespace headwater::kernels
#endif  // HEADWATER_KERNELS_GEMM_CC_

HWY_BEFORE_NAMESPACE();
namespace headwater::kernels {
namespace HWY_NAMESPACE {
namespace {

// Packs columns [n0, n1) of B, n0 a multiple of kMaxSliver.
void gemm_pack_b(const GemmJob& job, int64_t n0, int64_t n1) {
  for (int64_t p = job.k0; p < job.k1; p += kMaxDepth) {
    const int64_t depth = std::min(kMaxDepth, job.k1 - p);
    float* out = job.packed_b + (p - job.k0) * job.padded_n() + n0 * depth;
    if (job.b.transposed)
      pack_columns(depth, n1 - n0, job.b.data + n0 * job.b.ld + p, job.b.ld, out);
    else pack_rows(depth, n1 - n0, job.b.data + p * job.b.ld + n0, job.b.ld, out);
  }
}

// Packs rows [m0, m1) of a transposed A, m0 a multiple of kMaxTileRows.
void gemm_pack_a(const GemmJob& job, int64_t m0, int64_t m1) {
  for (int64_t p = job.k0; p < job.k1; p += kMaxDepth) {
    const int64_t depth = std::min(kMaxDepth, job.k1 - p);
    pack_a(m1 - m0, depth, job.a.data + p * job.a.ld + m0, job.a.ld,
           job.packed_a + (p - job.k0) * job.padded_m() + m0 * depth);
  }
}

// Epilogue of C[m0..m1, n..n+columns].
void gemm_epilogue(const Epilogue& e, int64_t m0, int64_t m1, int64_t n, int64_t columns, float* c,
                   int64_t ldc) {
  for (int64_t j = 0; j < columns; j += kLanes) {
    const int64_t count = std::min(kLanes, columns - j);
    const VecF bias = e.bias ? load_first(e.bias + n + j, count) : hn::Zero(F32());
    for (int64_t i = m0; i < m1; ++i) {
      const int64_t at = i * ldc + n + j;
      VecF v = hn::Add(load_first(c + at, count), bias);
      if (e.gelu) {
        const Gelu g = gelu(v);
        v = g.value;
        if (e.gelu_derivative) store_first(g.derivative, e.gelu_derivative + at, count);
      }
      if (e.multiply) v = hn::Mul(v, load_first(e.multiply + at, count));
      if (e.add) v = hn::Add(v, load_first(e.add + at, count));
      store_first(v, c + at, count);
    }
  }
}

void gemm_rectangle(const GemmJob& job, const Rectangle& r, bool has_epilogue) {
  for (int64_t p = job.k0; p < job.k1; p += kMaxDepth) {
    const int64_t depth = std::min(kMaxDepth, job.k1 - p);
    const float beta = p == 0 ? job.beta : 1.0f;
    const bool finish = has_epilogue && p + depth == job.k;
    const float* b = job.packed_b + (p - job.k0) * job.padded_n();
    for (int64_t j = r.n0; j < r.n1; j += kSliver) {
      const int64_t columns = std::min(kSliver, r.n1 - j);
      float* c = job.c + r.m0 * job.ldc + j;
      if (job.a.transposed) {
        const float* a = job.packed_a + (p - job.k0) * job.padded_m() + r.m0 * depth;
        sliver_gemm<Walk::kColumns>(r.m1 - r.m0, columns, depth, PanelA::packed(a, depth),
                                    b + j * depth, job.alpha, beta, c, job.ldc);
      } else {
        const float* a = job.a.data + r.m0 * job.a.ld + p;
        sliver_gemm<Walk::kRows>(r.m1 - r.m0, columns, depth, PanelA::rows(a, job.a.ld),
                                 b + j * depth, job.alpha, beta, c, job.ldc);
      }
      if (finish) gemm_epilogue(job.epilogue, r.m0, r.m1, j, columns, job.c, job.ldc);
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace headwater::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headwater::kernels {
HWY_EXPORT(gemm_pack_a);
HWY_EXPORT(gemm_pack_b);
HWY_EXPORT(gemm_rectangle);
HWY_EXPORT(gemm_epilogue);
namespace {

// Rectangles of C: chosen by the shape alone. Large ones reuse the packed operands best; enough of
// them keep many threads busy.
struct Grid {
  int64_t rows = 96, columns = 512;

  int64_t size(int64_t m, int64_t n) const { return ceil_div(m, rows) * ceil_div(n, columns); }
};

Grid choose_grid(int64_t m, int64_t n) {
  constexpr int64_t kEnough = 40;
  Grid grid;
  while (grid.size(m, n) < kEnough && grid.columns > 64) grid.columns /= 2;
  while (grid.size(m, n) < kEnough && grid.rows > 24) grid.rows /= 2;
  return grid;
}

bool is_small(const GemmJob& job) { return job.m * job.n * job.k < 100'000; }

// k == 0: only beta and the epilogue are left.
void without_product(const GemmJob& job) {
  for (int64_t i = 0; i < job.m; ++i)
    for (int64_t j = 0; j < job.n; ++j) {
      float& c = job.c[i * job.ldc + j];
      c = job.beta == 0.0f ? 0.0f : job.beta * c;
    }
  HWY_DYNAMIC_DISPATCH(gemm_epilogue)(job.epilogue, 0, job.m, 0, job.n, job.c, job.ldc);
}

void run_block(const GemmJob& job, const Grid& grid, bool has_epilogue) {
  const bool small = is_small(job);
  parallel_for(job.n, small ? job.n : 2 * kMaxSliver, [&](int64_t n0, int64_t n1) {
    HWY_DYNAMIC_DISPATCH(gemm_pack_b)(job, n0, n1);
  });
  if (job.a.transposed)
    parallel_for(job.m, small ? job.m : 5 * kMaxTileRows, [&](int64_t m0, int64_t m1) {
      HWY_DYNAMIC_DISPATCH(gemm_pack_a)(job, m0, m1);
    });
  const int64_t across = ceil_div(job.n, grid.columns);
  const int64_t count = grid.size(job.m, job.n);
  parallel_for(count, small ? count : 1, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t m0 = task / across * grid.rows, n0 = task % across * grid.columns;
      const Rectangle r{m0, std::min(job.m, m0 + grid.rows), n0,
                        std::min(job.n, n0 + grid.columns)};
      HWY_DYNAMIC_DISPATCH(gemm_rectangle)(job, r, has_epilogue);
    }
  });
}

}  // namespace

int64_t gemm_workspace_bytes(int64_t m, int64_t n, int64_t k, bool transpose_a) {
  const int64_t depth = std::min(k, kDepthBlock);
  const int64_t a = transpose_a ? depth * round_up(m, kMaxTileRows) : 0;
  return floats_to_bytes(a) + floats_to_bytes(depth * round_up(n, kMaxSliver));
}

void gemm(int64_t m, int64_t n, int64_t k, float alpha, const Operand& a, const Operand& b,
          float beta, float* c, int64_t ldc, void* workspace, const Epilogue& epilogue) {
  ensure_isa();
  if (m <= 0 || n <= 0) return;
  Workspace memory(workspace);
  GemmJob job{m, n, k, alpha, a, b, beta, c, ldc, epilogue, nullptr, nullptr};
  const int64_t depth = std::min(k, kDepthBlock);
  if (a.transposed) job.packed_a = memory.take<float>(depth * job.padded_m());
  job.packed_b = memory.take<float>(depth * job.padded_n());
  const bool has_epilogue = epilogue.bias || epilogue.gelu || epilogue.multiply || epilogue.add;
  const Grid grid = choose_grid(m, n);
  if (k <= 0) without_product(job);
  for (; job.k0 < k; job.k0 = job.k1) {
    job.k1 = std::min(k, job.k0 + kDepthBlock);
    run_block(job, grid, has_epilogue);
  }
}

}  // namespace headwater::kernels
#endif  // HWY_ONCE
