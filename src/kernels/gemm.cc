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

// One product, cut in k into blocks. While a block is multiplied, B of the next one is packed.
// Every task of a block (a rectangle of C) is computed by one thread.
constexpr int64_t kDepthBlock = 1024;               // a rectangle of C stays in L2 over its passes
constexpr int64_t kTransposedDepthBlock = 256;      // sums are long: packed B stays in L2
constexpr int64_t kMaxRows = 96;                    // of a task
constexpr int64_t kPackedA = kMaxRows * kMaxDepth;  // floats
static_assert(kDepthBlock % kMaxDepth == 0 && kTransposedDepthBlock % kMaxDepth == 0);
static_assert(kMaxRows % kMaxTileRows == 0);

// Up to as many rows B is read once, where it is: packing would cost more than the product.
constexpr int64_t kFewRows = 6;
constexpr int64_t kFewColumns = 512;  // of a task then: its part of C stays in L1
static_assert(kFewColumns % kMaxSliver == 0);

constexpr bool is_few(int64_t m, bool transpose_a) { return m <= kFewRows && !transpose_a; }

constexpr int64_t depth_block(bool transpose_a) {
  return transpose_a ? kTransposedDepthBlock : kDepthBlock;
}

// Part of the sum, with B packed as [kMaxDepth piece][sliver][depth][kSliver].
struct DepthBlock {
  int64_t k0, k1;
  float* packed_b;
};

struct GemmJob {
  int64_t m, n, k;
  float alpha;
  Operand a, b;
  float beta;
  float* c;
  int64_t ldc;
  Epilogue epilogue;
  float* packed_a = nullptr;  // [thread][kPackedA], only when A is transposed

  int64_t padded_n() const { return round_up(n, kMaxSliver); }
  // A bias alone is added on the way from the registers.
  bool epilogue_in_tiles() const { return epilogue.gelu || epilogue.multiply || epilogue.add; }
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

// Packs a part of a block of B: columns [n0, n1) of a transposed B, n0 a multiple of kMaxSliver, or
// rows [p0, p1) of another, within one kMaxDepth piece: what lies side by side in memory.
void gemm_pack_columns(const GemmJob& job, const DepthBlock& block, int64_t n0, int64_t n1) {
  for (int64_t p = block.k0; p < block.k1; p += kMaxDepth) {
    const int64_t depth = std::min(kMaxDepth, block.k1 - p);
    pack_columns(depth, n1 - n0, job.b.data + n0 * job.b.ld + p, job.b.ld,
                 block.packed_b + (p - block.k0) * job.padded_n() + n0 * depth);
  }
}
void gemm_pack_rows(const GemmJob& job, const DepthBlock& block, int64_t p0, int64_t p1) {
  const int64_t piece = block.k0 + (p0 - block.k0) / kMaxDepth * kMaxDepth;
  pack_rows(p1 - p0, job.n, job.b.data + p0 * job.b.ld, job.b.ld,
            std::min(kMaxDepth, block.k1 - piece),
            block.packed_b + (piece - block.k0) * job.padded_n() + (p0 - piece) * kSliver);
}

// What the epilogue makes of v, elements from `at` of C.
HWY_INLINE VecF finish_vector(const Epilogue& e, VecF v, VecF bias, int64_t at, int64_t count) {
  v = hn::Add(v, bias);
  if (e.gelu) {
    const Gelu g = gelu(e.gelu_form, v);
    v = g.value;
    if (e.gelu_derivative) store_first(g.derivative, e.gelu_derivative + at, count);
  }
  if (e.multiply) v = hn::Mul(v, load_first(e.multiply + at, count));
  if (e.add) v = hn::Add(v, load_first(e.add + at, count));
  return v;
}

// C[m.., n..] = epilogue(tile + beta * C) for a tile of products, its rows `ld` apart.
void finish_tile(const GemmJob& job, int64_t m, int64_t rows, int64_t n, int64_t columns,
                 float beta, const float* tile, int64_t ld = kSliver) {
  const Epilogue& e = job.epilogue;
  for (int64_t j = 0; j < columns; j += kLanes) {
    const int64_t count = std::min(kLanes, columns - j);
    const VecF bias = e.bias ? load_first(e.bias + n + j, count) : hn::Zero(F32());
    for (int64_t i = 0; i < rows; ++i) {
      const int64_t at = (m + i) * job.ldc + n + j;
      VecF v = hn::Load(F32(), tile + i * ld + j);
      if (beta != 0.0f) v = hn::MulAdd(set(beta), load_first(job.c + at, count), v);
      store_first(finish_vector(e, v, bias, at, count), job.c + at, count);
    }
  }
}

// Rows [m0, m1) of one sliver of C in the last pass over k: through the epilogue, tile by tile.
template <Walk kWalk>
void finish_sliver(const GemmJob& job, int64_t m0, int64_t m1, int64_t n, int64_t columns,
                   int64_t depth, PanelA a, const float* b, float beta) {
  HWY_ALIGN float tile[kTileRows * kSliver];
  for (int64_t m = m0; m < m1; m += kTileRows, a.data += a.tile_step) {
    const int64_t rows = std::min<int64_t>(kTileRows, m1 - m);
    sliver_gemm<kWalk>(rows, kSliver, depth, a, b, {.alpha = job.alpha}, tile, kSliver);
    finish_tile(job, m, rows, n, columns, beta, tile);
  }
}

// k == 0: nothing but beta and the epilogue.
void finish_without_product(const GemmJob& job) {
  HWY_ALIGN const float zeros[kTileRows * kSliver] = {};
  for (int64_t m = 0; m < job.m; m += kTileRows)
    for (int64_t n = 0; n < job.n; n += kSliver)
      finish_tile(job, m, std::min<int64_t>(kTileRows, job.m - m), n, std::min(kSliver, job.n - n),
                  job.beta, zeros);
}

template <Walk kWalk>
void rectangle_pass(const GemmJob& job, const Rectangle& r, int64_t depth, PanelA a,
                    const float* packed_b, float beta, bool last, Ahead ahead) {
  const bool finish = last && job.epilogue_in_tiles();
  for (int64_t n = r.n0; n < r.n1; n += kSliver) {
    const int64_t columns = std::min(kSliver, r.n1 - n);
    const float* const b = packed_b + n * depth;
    const float* const bias = last && job.epilogue.bias ? job.epilogue.bias + n : nullptr;
    if (finish) finish_sliver<kWalk>(job, r.m0, r.m1, n, columns, depth, a, b, beta);
    else
      sliver_gemm<kWalk>(r.m1 - r.m0, columns, depth, a, b, {job.alpha, beta, bias},
                         job.c + r.m0 * job.ldc + n, job.ldc, &ahead);
  }
}

// A rectangle of C, over a block of k. A transposed A is packed here, by the thread that multiplies
// it, and what the next block packs is fetched meanwhile.
void gemm_rectangle(const GemmJob& job, const DepthBlock& block, const Rectangle& r,
                    float* packed_a) {
  for (int64_t p = block.k0; p < block.k1; p += kMaxDepth) {
    const int64_t depth = std::min(kMaxDepth, block.k1 - p);
    const float beta = p == 0 ? job.beta : 1.0f;
    const bool last = p + depth == job.k;
    const float* const b = block.packed_b + (p - block.k0) * job.padded_n();
    if (job.a.transposed) {
      const float* const a = job.a.data + p * job.a.ld + r.m0;
      pack_a(r.m1 - r.m0, depth, a, job.a.ld, packed_a);
      const Ahead ahead(a + depth * job.a.ld, job.a.ld, std::min(kMaxDepth, job.k - p - depth),
                        r.m1 - r.m0);
      rectangle_pass<Walk::kColumns>(job, r, depth, PanelA::packed(packed_a, depth), b, beta, last,
                                     ahead);
    } else {
      const PanelA a = PanelA::rows(job.a.data + r.m0 * job.a.ld + p, job.a.ld);
      rectangle_pass<Walk::kRows>(job, r, depth, a, b, beta, last, Ahead());
    }
  }
}

// ---- few rows ----

// sums[n] += a[0] * (row 0 of B) + a[1] * (row 1) + ..
template <int kCount>
HWY_INLINE void add_rows(int64_t n, const float* a, float alpha, const float* b, int64_t ldb,
                         float* sums) {
  VecF factor[kCount];
  for (int p = 0; p < kCount; ++p) factor[p] = set(alpha * a[p]);
  for (int64_t j = 0; j < n; j += kLanes) {
    VecF v = hn::Load(F32(), sums + j);
    for (int p = 0; p < kCount; ++p)
      v = hn::MulAdd(factor[p], load_first(b + p * ldb + j, n - j), v);
    hn::Store(v, F32(), sums + j);
  }
}

// sums[j] = alpha * <a, row j of the stored transpose of B>, for kCount rows.
template <int kCount>
HWY_INLINE void multiply_rows(int64_t k, const float* a, float alpha, const float* b, int64_t ldb,
                              float* sums) {
  VecF sum[kCount];
  for (int j = 0; j < kCount; ++j) sum[j] = hn::Zero(F32());
  for (int64_t p = 0; p < k; p += kLanes) {
    const VecF x = load_first(a + p, k - p);
    for (int j = 0; j < kCount; ++j)
      sum[j] = hn::MulAdd(x, load_first(b + j * ldb + p, k - p), sum[j]);
  }
  for (int j = 0; j < kCount; ++j) sums[j] = alpha * sum_lanes(sum[j]);
}

// Columns [n0, n1) of C, all of its few rows. Every part of B is read from memory once.
void few_rows_gemm(const GemmJob& job, int64_t n0, int64_t n1) {
  HWY_ALIGN float sums[kFewRows * kFewColumns] = {};
  constexpr int kStep = 4;
  const int64_t n = n1 - n0, ldb = job.b.ld, last = job.b.transposed ? n : job.k;
  for (int64_t at = 0; at < last; at += kStep) {
    const bool whole = at + kStep <= last;
    for (int64_t i = 0; i < job.m; ++i) {
      const float* const a = job.a.data + i * job.a.ld;
      float* const row = sums + i * kFewColumns;
      if (job.b.transposed) {
        const float* const b = job.b.data + (n0 + at) * ldb;
        if (whole) multiply_rows<kStep>(job.k, a, job.alpha, b, ldb, row + at);
        else
          for (int64_t j = at; j < last; ++j)
            multiply_rows<1>(job.k, a, job.alpha, b + (j - at) * ldb, ldb, row + j);
      } else {
        const float* const b = job.b.data + at * ldb + n0;
        if (whole) add_rows<kStep>(n, a + at, job.alpha, b, ldb, row);
        else
          for (int64_t p = at; p < last; ++p)
            add_rows<1>(n, a + p, job.alpha, b + (p - at) * ldb, ldb, row);
      }
    }
  }
  finish_tile(job, 0, job.m, n0, n, job.beta, sums, kFewColumns);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace headwater::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headwater::kernels {
HWY_EXPORT(gemm_pack_columns);
HWY_EXPORT(gemm_pack_rows);
HWY_EXPORT(gemm_rectangle);
HWY_EXPORT(finish_without_product);
HWY_EXPORT(few_rows_gemm);
namespace {

// Products too small to be worth a second thread.
bool is_small(const GemmJob& job) { return job.m * job.n * job.k < 100'000; }

// Rectangles of C. How it is cut decides speed only: an element is the same sum in any rectangle.
struct Grid {
  int64_t rows, columns;

  int64_t size(int64_t m, int64_t n) const { return ceil_div(m, rows) * ceil_div(n, columns); }
  // Time of the busiest thread, in cycles per unit of k: products, B from L2, and packing of A.
  int64_t cost(int64_t m, int64_t n, bool transpose_a) const {
    const int64_t task = rows * columns / 16 + columns / 5 + (transpose_a ? rows / 2 : 0) + 8;
    return ceil_div(size(m, n), num_threads()) * task;
  }
};

Grid choose_grid(int64_t m, int64_t n, bool transpose_a) {
  Grid best{kMaxRows, 512};
  for (const int64_t rows : {96, 48, 24, 12})
    for (const int64_t columns : {512, 256, 128, 64}) {
      const Grid grid{rows, columns};
      if (grid.cost(m, n, transpose_a) < best.cost(m, n, transpose_a)) best = grid;
    }
  return best;
}

// Packing of a block of B in tasks.
struct Packing {
  bool columns;
  int64_t size, grain;

  Packing(const GemmJob& job, const DepthBlock& block)
      : columns(job.b.transposed),
        size(columns ? job.n : block.k1 - block.k0),
        grain(columns ? 2 * kMaxSliver : 32) {
    if (block.k0 == block.k1) size = 0;
  }
  int64_t tasks() const { return ceil_div(size, grain); }
  void run(const GemmJob& job, const DepthBlock& block, int64_t task) const {
    const int64_t begin = task * grain, end = std::min(size, begin + grain);
    if (columns) HWY_DYNAMIC_DISPATCH(gemm_pack_columns)(job, block, begin, end);
    else HWY_DYNAMIC_DISPATCH(gemm_pack_rows)(job, block, block.k0 + begin, block.k0 + end);
  }
};

// Multiplies block `now` (unless empty) and packs block `next` (unless empty), in one parallel
// loop.
void run_block(const GemmJob& job, const Grid& grid, const DepthBlock& now,
               const DepthBlock& next) {
  const Packing packing(job, next);
  const int64_t packs = packing.tasks(), across = ceil_div(job.n, grid.columns);
  const int64_t all = packs + (now.k0 < now.k1 ? grid.size(job.m, job.n) : 0);
  parallel_for(all, is_small(job) ? all : 1, [&](int64_t begin, int64_t end) {
    float* const packed_a = job.packed_a + thread_index() * kPackedA;
    for (int64_t task = begin; task < std::min(end, packs); ++task) packing.run(job, next, task);
    for (int64_t task = std::max(begin, packs) - packs; task < end - packs; ++task) {
      const int64_t m0 = task / across * grid.rows, n0 = task % across * grid.columns;
      const Rectangle r{m0, std::min(job.m, m0 + grid.rows), n0,
                        std::min(job.n, n0 + grid.columns)};
      HWY_DYNAMIC_DISPATCH(gemm_rectangle)(job, now, r, packed_a);
    }
  });
}

// Floats of one packed block of B.
int64_t packed_b_size(int64_t n, int64_t k, bool transpose_a) {
  return std::min(k, depth_block(transpose_a)) * round_up(n, kMaxSliver);
}

// As many columns at a time as give each thread two shares; an element is the same sum in any.
void run_few_rows(const GemmJob& job) {
  const int64_t share = round_up(ceil_div(job.n, int64_t{2} * num_threads()), kMaxSliver);
  const int64_t columns = std::min(share, kFewColumns), tasks = ceil_div(job.n, columns);
  parallel_for(tasks, is_small(job) ? tasks : 1, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) HWY_DYNAMIC_DISPATCH(few_rows_gemm)
    (job, task * columns, std::min(job.n, (task + 1) * columns));
  });
}

}  // namespace

int64_t gemm_workspace_bytes(int64_t m, int64_t n, int64_t k, bool transpose_a) {
  if (is_few(m, transpose_a)) return 0;
  const int64_t a = transpose_a ? num_threads() * kPackedA : 0;
  const int64_t blocks = k > depth_block(transpose_a) ? 2 : 1;
  return floats_to_bytes(a) + blocks * floats_to_bytes(packed_b_size(n, k, transpose_a));
}

void gemm(int64_t m, int64_t n, int64_t k, float alpha, const Operand& a, const Operand& b,
          float beta, float* c, int64_t ldc, void* workspace, const Epilogue& epilogue) {
  ensure_isa();
  if (m <= 0 || n <= 0) return;
  Workspace memory(workspace);
  GemmJob job{m, n, k, alpha, a, b, beta, c, ldc, epilogue};
  if (k <= 0) return HWY_DYNAMIC_DISPATCH(finish_without_product)(job);
  if (is_few(m, a.transposed)) return run_few_rows(job);
  // Without a transposed A nothing is taken and the pointer is not used.
  job.packed_a = memory.take<float>(a.transposed ? num_threads() * kPackedA : 0);
  const int64_t depth = depth_block(a.transposed), size = packed_b_size(n, k, a.transposed);
  float* const first = memory.take<float>(size);
  float* const second = k > depth ? memory.take<float>(size) : nullptr;
  const Grid grid = choose_grid(m, n, a.transposed);
  DepthBlock now{0, 0, second};
  while (now.k0 < k) {
    const DepthBlock next{now.k1, std::min(k, now.k1 + depth),
                          now.packed_b == first ? second : first};
    run_block(job, grid, now, next);
    now = now.k1 == k ? DepthBlock{k, k, nullptr} : next;
  }
}

}  // namespace headwater::kernels
#endif  // HWY_ONCE
