// The innermost product, for the instruction set being compiled: C[m,n] = alpha * A B + beta * C
// (+ bias) with B packed into slivers of kSliver columns. gemm, attention and the vocabulary
// cross-entropy are loops around it; it knows no threads and no blocking for caches.
//
// The tile (kTileRows x kSliver, two vectors wide) is as large as the registers hold: 6 x 16 with
// AVX2, 12 x 32 with AVX-512. Sums over k run in order, so a result depends on the inputs and the
// instruction set only. After Goto and van de Geijn, "Anatomy of high-performance matrix
// multiplication", TOMS 34 (2008).
#if defined(HEADWATER_KERNELS_MICRO_GEMM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADWATER_KERNELS_MICRO_GEMM_INL_H_
#undef HEADWATER_KERNELS_MICRO_GEMM_INL_H_
#else
#define HEADWATER_KERNELS_MICRO_GEMM_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/checked.h"
#include "kernels/blocking.h"
#include "kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headwater::kernels {
namespace HWY_NAMESPACE {

constexpr int64_t kSliver = 2 * kLanes;
constexpr int kTileRows = HWY_TARGET <= HWY_AVX3 ? 12 : 6;
static_assert(kSliver <= kMaxSliver && kTileRows <= kMaxTileRows);

// How the micro-kernel walks A: along rows in place, element (i, k) at a[i * stride + k]; or down
// columns, the rows of a tile side by side, at a[k * stride + i].
enum class Walk { kRows, kColumns };

// kRows rows of one sliver of C, in registers.
template <Walk kWalk, int kRows>
class Tile {
 public:
  HWY_INLINE void multiply(int64_t k, const float* HWY_RESTRICT a, int64_t stride,
                           const float* HWY_RESTRICT b) {
    multiply(kAll, k, a, stride, b);
  }
  // c = alpha * tile + beta * c + (bias0, bias1) of each row; c is not read when beta is 0.
  HWY_INLINE void store(float alpha, float beta, VecF bias0, VecF bias1, float* HWY_RESTRICT c,
                        int64_t ldc) const {
    if (beta == 0.0f) put(kAll, set(alpha), bias0, bias1, c, ldc);
    else add(kAll, set(alpha), set(beta), bias0, bias1, c, ldc);
  }

 private:
  static constexpr auto kAll = std::make_integer_sequence<int, kRows>();

  template <int... row>
  HWY_INLINE void multiply(std::integer_sequence<int, row...>, int64_t k,
                           const float* HWY_RESTRICT a, int64_t stride,
                           const float* HWY_RESTRICT b) {
    ((sum_[row][0] = sum_[row][1] = hn::Zero(F32())), ...);
    for (int64_t p = 0; p < k; ++p) {
      const VecF b0 = hn::Load(F32(), b), b1 = hn::Load(F32(), b + kLanes);
      (multiply_row<row>(set(kWalk == Walk::kRows ? a[row * stride] : a[row]), b0, b1), ...);
      a += kWalk == Walk::kRows ? 1 : stride;
      b += kSliver;
    }
  }
  template <int row>
  HWY_INLINE void multiply_row(VecF a, VecF b0, VecF b1) {
    sum_[row][0] = hn::MulAdd(a, b0, sum_[row][0]);
    sum_[row][1] = hn::MulAdd(a, b1, sum_[row][1]);
  }
  template <int... row>
  HWY_INLINE void put(std::integer_sequence<int, row...>, VecF alpha, VecF bias0, VecF bias1,
                      float* HWY_RESTRICT c, int64_t ldc) const {
    ((hn::StoreU(hn::MulAdd(alpha, sum_[row][0], bias0), F32(), c + row * ldc),
      hn::StoreU(hn::MulAdd(alpha, sum_[row][1], bias1), F32(), c + row * ldc + kLanes)),
     ...);
  }
  template <int... row>
  HWY_INLINE void add(std::integer_sequence<int, row...>, VecF alpha, VecF beta, VecF bias0,
                      VecF bias1, float* HWY_RESTRICT c, int64_t ldc) const {
    ((add(hn::MulAdd(alpha, sum_[row][0], bias0), beta, c + row * ldc),
      add(hn::MulAdd(alpha, sum_[row][1], bias1), beta, c + row * ldc + kLanes)),
     ...);
  }
  static HWY_INLINE void add(VecF v, VecF beta, float* to) {
    hn::StoreU(hn::MulAdd(beta, hn::LoadU(F32(), to), v), F32(), to);
  }

  VecF sum_[kRows][2];
};

// What a tile becomes: alpha * tile + beta * C + bias[column] (null: none).
struct Combine {
  float alpha = 1.0f, beta = 0.0f;
  const float* bias = nullptr;
};

// C[kRows, columns] of one tile; at the right edge of C it has fewer columns than a sliver.
template <Walk kWalk, int kRows>
HWY_NOINLINE void tile_gemm(int64_t columns, int64_t k, const float* a, int64_t stride,
                            const float* b, const Combine& how, float* c, int64_t ldc) {
  Tile<kWalk, kRows> tile;
  tile.multiply(k, a, stride, b);
  const VecF zero = hn::Zero(F32());
  if (HWY_LIKELY(columns == kSliver)) {
    const VecF bias0 = how.bias != nullptr ? hn::LoadU(F32(), how.bias) : zero;
    const VecF bias1 = how.bias != nullptr ? hn::LoadU(F32(), how.bias + kLanes) : zero;
    return tile.store(how.alpha, how.beta, bias0, bias1, c, ldc);
  }
  HWY_ALIGN float whole[kRows * kSliver];
  tile.store(how.alpha, 0.0f, zero, zero, whole, kSliver);
  for (int64_t i = 0; i < kRows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      float& out = c[i * ldc + j];
      out = whole[i * kSliver + j] + (how.bias != nullptr ? how.bias[j] : 0.0f) +
            (how.beta == 0.0f ? 0.0f : how.beta * out);
    }
}

// Rows of memory that a later pass will read, fetched one after the other while products run.
class Ahead {
 public:
  Ahead() = default;
  Ahead(const float* first, int64_t stride, int64_t rows, int64_t width)
      : next_(first), stride_(stride), rows_(rows), width_(width) {}

  HWY_INLINE void fetch_row() {
    if (rows_ <= 0) return;
    for (int64_t j = 0; j < width_ + 15; j += 16)
      __builtin_prefetch(next_ + std::min(j, width_ - 1));
    next_ += stride_;
    --rows_;
  }

 private:
  const float* next_ = nullptr;
  int64_t stride_ = 0, rows_ = 0, width_ = 0;
};

// A for panel_gemm: in place, or packed by pack_a as tiles of k * kTileRows.
struct PanelA {
  const float* data;
  int64_t stride;     // see Walk
  int64_t tile_step;  // from one tile of rows to the next

  static PanelA rows(const float* a, int64_t lda) { return {a, lda, kTileRows * lda}; }
  static PanelA columns(const float* a, int64_t lda) { return {a, lda, kTileRows}; }
  static PanelA packed(const float* a, int64_t k) { return {a, kTileRows, k * kTileRows}; }
};

// The rows left below the last whole tile, in tiles of kRows (a power of two), then smaller ones.
template <Walk kWalk, int kRows>
HWY_INLINE void edge_gemm(int64_t rows, int64_t columns, int64_t k, const float* a, int64_t stride,
                          const float* b, const Combine& how, float* c, int64_t ldc) {
  if (rows >= kRows) {
    tile_gemm<kWalk, kRows>(columns, k, a, stride, b, how, c, ldc);
    a += kWalk == Walk::kRows ? kRows * stride : kRows;
    c += kRows * ldc;
    rows -= kRows;
  }
  if constexpr (kRows > 1) edge_gemm<kWalk, kRows / 2>(rows, columns, k, a, stride, b, how, c, ldc);
}

// C[m, columns] = combine(A B, C) for one sliver of B.
template <Walk kWalk>
HWY_INLINE void sliver_gemm(int64_t m, int64_t columns, int64_t k, PanelA a, const float* b,
                            const Combine& how, float* c, int64_t ldc, Ahead* ahead = nullptr) {
  constexpr int kEdge = kTileRows > 8 ? 8 : 4;
  static_assert(kTileRows > kEdge && kTileRows <= 2 * kEdge);
  for (; m >= kTileRows; m -= kTileRows, a.data += a.tile_step, c += kTileRows * ldc) {
    if (ahead != nullptr) ahead->fetch_row();
    tile_gemm<kWalk, kTileRows>(columns, k, a.data, a.stride, b, how, c, ldc);
  }
  if (m > 0) edge_gemm<kWalk, kEdge>(m, columns, k, a.data, a.stride, b, how, c, ldc);
}

// C[m, n] = combine(A B, C); b holds slivers of packed_k rows, of which the first k count.
template <Walk kWalk>
HWY_INLINE void panel_gemm(int64_t m, int64_t n, int64_t k, PanelA a, const float* b,
                           int64_t packed_k, const Combine& how, float* c, int64_t ldc) {
  for (int64_t j = 0; j < n; j += kSliver)
    sliver_gemm<kWalk>(m, std::min(kSliver, n - j), k, a, b + j * packed_k, how, c + j, ldc);
}

// ---- packing ----

// Slivers of B[k, n] stored row by row: out[sliver][packed_k][kSliver], the last sliver padded with
// zeros.
HWY_INLINE void pack_rows(int64_t k, int64_t n, const float* b, int64_t ldb, int64_t packed_k,
                          float* out) {
  constexpr int64_t kBlock = 8;  // rows at a time: that many sequential streams are prefetched
  for (int64_t p0 = 0; p0 < k; p0 += kBlock) {
    const int64_t p1 = std::min(k, p0 + kBlock);
    for (int64_t j = 0; j < n; j += kSliver) {
      float* to = out + j * packed_k + p0 * kSliver;
      for (int64_t p = p0; p < p1; ++p, to += kSliver) {
        const float* from = b + p * ldb + j;
        hn::Store(load_first(from, n - j), F32(), to);
        hn::Store(n - j > kLanes ? load_first(from + kLanes, n - j - kLanes) : hn::Zero(F32()),
                  F32(), to + kLanes);
      }
    }
  }
}

// 4 x 4 floats, rows `stride` apart, to their transpose with rows `out_stride` apart.
HWY_INLINE void transpose_4x4(const float* from, int64_t stride, float* to, int64_t out_stride) {
  const hn::Full128<float> f4;
  const hn::Full128<double> d2;
  const auto r0 = hn::LoadU(f4, from), r1 = hn::LoadU(f4, from + stride);
  const auto r2 = hn::LoadU(f4, from + 2 * stride), r3 = hn::LoadU(f4, from + 3 * stride);
  const auto low01 = hn::BitCast(d2, hn::InterleaveLower(f4, r0, r1));
  const auto high01 = hn::BitCast(d2, hn::InterleaveUpper(f4, r0, r1));
  const auto low23 = hn::BitCast(d2, hn::InterleaveLower(f4, r2, r3));
  const auto high23 = hn::BitCast(d2, hn::InterleaveUpper(f4, r2, r3));
  hn::StoreU(hn::BitCast(f4, hn::InterleaveLower(d2, low01, low23)), f4, to);
  hn::StoreU(hn::BitCast(f4, hn::InterleaveUpper(d2, low01, low23)), f4, to + out_stride);
  hn::StoreU(hn::BitCast(f4, hn::InterleaveLower(d2, high01, high23)), f4, to + 2 * out_stride);
  hn::StoreU(hn::BitCast(f4, hn::InterleaveUpper(d2, high01, high23)), f4, to + 3 * out_stride);
}

// out[c * out_stride + r] = from[r * stride + c] for r < rows, c < columns.
HWY_INLINE void transpose_block(int64_t rows, int64_t columns, const float* from, int64_t stride,
                                float* out, int64_t out_stride) {
  const int64_t rows4 = rows / 4 * 4, columns4 = columns / 4 * 4;
  for (int64_t c = 0; c < columns4; c += 4)
    for (int64_t r = 0; r < rows4; r += 4)
      transpose_4x4(from + r * stride + c, stride, out + c * out_stride + r, out_stride);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = r < rows4 ? columns4 : 0; c < columns; ++c)
      out[c * out_stride + r] = from[r * stride + c];
}

// Slivers of B[k, n] whose transpose is stored: element (p, j) at b[j * ldb + p].
HWY_INLINE void pack_columns(int64_t k, int64_t n, const float* b, int64_t ldb, float* out) {
  for (int64_t j = 0; j < n; j += kSliver) {
    const int64_t columns = std::min(kSliver, n - j);
    float* to = out + j * k;
    if (columns < kSliver) std::memset(to, 0, sizeof(float) * static_cast<size_t>(k * kSliver));
    transpose_block(columns, k, b + j * ldb, ldb, to, kSliver);
  }
}

// Tiles of A[m, k] whose transpose is stored, element (i, p) at a[p * lda + i]:
// out[tile][k][kTileRows]; missing rows of the last tile are left as they are.
HWY_INLINE void pack_a(int64_t m, int64_t k, const float* a, int64_t lda, float* out) {
  constexpr int64_t kBlock = 16;  // rows of the transpose at a time, as in pack_rows
  for (int64_t p0 = 0; p0 < k; p0 += kBlock) {
    const int64_t p1 = std::min(k, p0 + kBlock);
    for (int64_t i = 0; i < m; i += kTileRows) {
      float* to = out + i * k + p0 * kTileRows;
      const int64_t rows = std::min<int64_t>(kTileRows, m - i);
      for (int64_t p = p0; p < p1; ++p, to += kTileRows) {
        const float* const from = a + p * lda + i;
        if (HWY_LIKELY(rows == kTileRows)) std::memcpy(to, from, kTileRows * sizeof(float));
        else std::copy(from, from + rows, to);
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace headwater::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
