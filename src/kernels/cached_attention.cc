#include "kernels/cached_attention.h"

#include <algorithm>
#include <cmath>

#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cached_attention.cc"
#include <hwy/foreach_target.h>

#include "base/checked.h"
#include "base/threads.h"
#include "kernels/blocking.h"
#include "kernels/isa.h"
#include "kernels/micro_gemm-inl.h"

#ifndef HEADWATER_KERNELS_CACHED_ATTENTION_CC_
#define HEADWATER_KERNELS_CACHED_ATTENTION_CC_
namespace headwater::kernels {

// Fewer queries than this read keys and values where they are; for more, packing them pays.
constexpr int64_t kPackedQueries = 4;
constexpr int64_t kCachedQueryBlock = 48;  // queries of one pass over the keys
constexpr float kUnseen = -1e30f;          // the score of keys that are not seen: e^x is exactly 0

struct CachedAttentionJob {
  CachedAttentionShape shape;
  const float *q, *k, *v;
  int64_t position;
  float* context;

  bool packs() const { return shape.time >= kPackedQueries; }
  int64_t width() const { return shape.heads * shape.head_size; }
  int64_t padded_capacity() const { return round_up(shape.capacity, kMaxSliver); }
};

// Scratch of one thread. Packed operands are slivers (micro_gemm-inl.h).
struct CachedAttentionScratch {
  float* scores;  // [block, padded C]
  float* key_columns = nullptr;
  float* value_rows = nullptr;
  int64_t bytes;

  CachedAttentionScratch(const CachedAttentionJob& job, void* memory) {
    Workspace workspace(memory);
    const int64_t capacity = job.padded_capacity(), size = job.shape.head_size;
    scores = workspace.take<float>(std::min(job.shape.time, kCachedQueryBlock) * capacity);
    if (job.packs()) {
      key_columns = workspace.take<float>(capacity * size);
      value_rows = workspace.take<float>(job.shape.capacity * round_up(size, kMaxSliver));
    }
    bytes = workspace.used();
  }
};

}  // namespace headwater::kernels
#endif  // HEADWATER_KERNELS_CACHED_ATTENTION_CC_

HWY_BEFORE_NAMESPACE();
namespace headwater::kernels {
namespace HWY_NAMESPACE {
namespace {

// One head of one sequence.
struct CachedHead {
  const CachedAttentionJob& job;
  int64_t batch, head;

  int64_t size() const { return job.shape.head_size; }
  int64_t stride() const { return job.width(); }
  const float* q(int64_t i) const { return job.q + token(job.shape.time, i); }
  const float* k(int64_t j) const { return job.k + token(job.shape.capacity, j); }
  const float* v(int64_t j) const { return job.v + token(job.shape.capacity, j); }
  float* context(int64_t i) const { return job.context + token(job.shape.time, i); }
  int64_t keys(int64_t query) const { return job.position + query + 1; }  // that it sees

 private:
  int64_t token(int64_t per_sequence, int64_t t) const {
    return (batch * per_sequence + t) * stride() + head * size();
  }
};

// Scores to probabilities; what is behind `keys` becomes 0, up to `span`.
void softmax_row(int64_t keys, int64_t span, float* row) {
  std::fill(row + keys, row + span, kUnseen);
  VecF most = set(kUnseen);
  for (int64_t j = 0; j < span; j += kLanes) most = hn::Max(most, hn::Load(F32(), row + j));
  const VecF top = set(max_lanes(most));
  VecF total = hn::Zero(F32());
  for (int64_t j = 0; j < span; j += kLanes) {
    const VecF e = exp_bounded(hn::Sub(hn::Load(F32(), row + j), top));
    total = hn::Add(total, e);
    hn::Store(e, F32(), row + j);
  }
  const VecF inverse = set(1.0f / sum_lanes(total));
  for (int64_t j = 0; j < span; j += kLanes)
    hn::Store(hn::Mul(hn::Load(F32(), row + j), inverse), F32(), row + j);
}

float inner_product(int64_t n, const float* a, const float* b) {
  VecF sum = hn::Zero(F32());
  for (int64_t i = 0; i < n; i += kLanes)
    sum = hn::MulAdd(load_first(a + i, n - i), load_first(b + i, n - i), sum);
  return sum_lanes(sum);
}

// to = x * factor + to.
void add_scaled(int64_t n, float factor, const float* x, float* to) {
  const VecF f = set(factor);
  for (int64_t i = 0; i < n; i += kLanes)
    store_first(hn::MulAdd(load_first(x + i, n - i), f, load_first(to + i, n - i)), to + i, n - i);
}

// One query, keys and values read where they are.
void attend_in_place(const CachedHead& h, int64_t query, float scale, float* scores) {
  const int64_t keys = h.keys(query);
  for (int64_t j = 0; j < keys; ++j)
    scores[j] = scale * inner_product(h.size(), h.q(query), h.k(j));
  softmax_row(keys, round_up(keys, kLanes), scores);
  float* const context = h.context(query);
  std::fill(context, context + h.size(), 0.0f);
  for (int64_t j = 0; j < keys; ++j) add_scaled(h.size(), scores[j], h.v(j), context);
}

// A block of queries from q0 on, against the packed keys and values.
void attend_packed(const CachedHead& h, int64_t q0, int64_t rows, float scale,
                   const CachedAttentionScratch& s) {
  const int64_t keys = h.keys(q0 + rows - 1), span = round_up(keys, kSliver);
  const int64_t ld = h.job.padded_capacity(), packed = h.keys(h.job.shape.time - 1);
  panel_gemm<Walk::kRows>(rows, span, h.size(), PanelA::rows(h.q(q0), h.stride()), s.key_columns,
                          h.size(), {.alpha = scale}, s.scores, ld);
  for (int64_t i = 0; i < rows; ++i) softmax_row(h.keys(q0 + i), span, s.scores + i * ld);
  panel_gemm<Walk::kRows>(rows, h.size(), keys, PanelA::rows(s.scores, ld), s.value_rows, packed,
                          {}, h.context(q0), h.stride());
}

void cached_attention_head(const CachedAttentionJob& job, int64_t batch, int64_t head,
                           const CachedAttentionScratch& s) {
  const CachedHead h{job, batch, head};
  const float scale = 1.0f / std::sqrt(static_cast<float>(h.size()));
  if (!job.packs()) {
    for (int64_t i = 0; i < job.shape.time; ++i) attend_in_place(h, i, scale, s.scores);
    return;
  }
  const int64_t keys = h.keys(job.shape.time - 1);
  pack_columns(h.size(), keys, h.k(0), h.stride(), s.key_columns);
  pack_rows(keys, h.size(), h.v(0), h.stride(), keys, s.value_rows);
  for (int64_t q0 = 0; q0 < job.shape.time; q0 += kCachedQueryBlock)
    attend_packed(h, q0, std::min(kCachedQueryBlock, job.shape.time - q0), scale, s);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace headwater::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headwater::kernels {
HWY_EXPORT(cached_attention_head);

int64_t cached_attention_workspace_bytes(const CachedAttentionShape& shape) {
  CachedAttentionJob job{};
  job.shape = shape;
  return num_threads() * CachedAttentionScratch(job, nullptr).bytes;
}

void cached_attention(const CachedAttentionShape& shape, const float* q, const float* k,
                      const float* v, int64_t position, float* context, void* workspace) {
  ensure_isa();
  const CachedAttentionJob job{shape, q, k, v, position, context};
  if (shape.time == 0) return;
  const int64_t bytes = CachedAttentionScratch(job, nullptr).bytes;
  parallel_for(shape.batch * shape.heads, 1, [&](int64_t begin, int64_t end) {
    const CachedAttentionScratch scratch(
        job, static_cast<std::byte*>(workspace) + thread_index() * bytes);
    for (int64_t i = begin; i < end; ++i)
      HWY_DYNAMIC_DISPATCH(cached_attention_head)(job, i / shape.heads, i % shape.heads, scratch);
  });
}

}  // namespace headwater::kernels
#endif  // HWY_ONCE
