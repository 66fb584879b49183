#include "kernels/attention.h"

#include <algorithm>
#include <cmath>

#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention.cc"
#include <hwy/foreach_target.h>

#include "base/checked.h"
#include "base/threads.h"
#include "kernels/blocking.h"
#include "kernels/isa.h"
#include "kernels/map-inl.h"
#include "kernels/micro_gemm-inl.h"

#ifndef HEADWATER_KERNELS_ATTENTION_CC_
#define HEADWATER_KERNELS_ATTENTION_CC_
namespace headwater::kernels {

// Queries of one pass over the keys of a head: their scores stay in L2.
constexpr int64_t kQueryBlock = 48;
static_assert(kQueryBlock % kMaxTileRows == 0);

constexpr float kMaskedScore = -10000.0f;  // added to the scores of padding (BERT)
constexpr float kNoScore = -1e30f;         // of keys that do not exist: e^x is exactly 0

// Everything both passes need; pointers that a pass does not use are null.
struct AttentionJob {
  AttentionShape shape;
  const float* q;
  const float* k;
  const float* v;
  const int32_t* mask;
  Dropout dropout;
  float* context = nullptr;
  float* log_sum_exp = nullptr;
  const float* saved_log_sum_exp = nullptr;
  const float* d_context = nullptr;
  float* dq = nullptr;
  float* dk = nullptr;
  float* dv = nullptr;

  float scale() const { return 1.0f / std::sqrt(static_cast<float>(shape.head_size)); }
  int64_t padded_time() const { return round_up(shape.time, kMaxSliver); }
  int64_t padded_size() const { return round_up(shape.head_size, kMaxSliver); }
  int64_t block() const { return std::min(kQueryBlock, shape.time); }
};

// Scratch of one thread. Packed operands are slivers (micro_gemm-inl.h).
struct AttentionScratch {
  float* key_columns;    // k^T: T columns
  float* key_rows;       // k: D columns
  float* value_columns;  // v^T: T columns
  float* value_rows;     // v: D columns
  float* query_rows;     // a block of q: D columns
  float* d_context_rows;
  float* scores;    // [block, padded T]: scores, then probabilities
  float* d_scores;  // [block, padded T]
  float* bias;      // [padded T]: what is added to every row of scores
  // By document, [padded T]: of each key, and the first and last token of the same.
  int32_t* documents = nullptr;
  int32_t* firsts = nullptr;
  int32_t* lasts = nullptr;

  AttentionScratch(const AttentionJob& job, void* memory) {
    Workspace workspace(memory);
    const int64_t time = job.padded_time(), size = job.padded_size(), block = job.block();
    key_columns = workspace.take<float>(time * job.shape.head_size);
    key_rows = workspace.take<float>(job.shape.time * size);
    value_columns = workspace.take<float>(time * job.shape.head_size);
    value_rows = workspace.take<float>(job.shape.time * size);
    query_rows = workspace.take<float>(block * size);
    d_context_rows = workspace.take<float>(block * size);
    scores = workspace.take<float>(block * time);
    d_scores = workspace.take<float>(block * time);
    bias = workspace.take<float>(time);
    if (job.shape.by_document) {
      documents = workspace.take<int32_t>(time);
      firsts = workspace.take<int32_t>(time);
      lasts = workspace.take<int32_t>(time);
    }
    bytes = workspace.used();
  }
  int64_t bytes;
};

}  // namespace headwater::kernels
#endif  // HEADWATER_KERNELS_ATTENTION_CC_

HWY_BEFORE_NAMESPACE();
namespace headwater::kernels {
namespace HWY_NAMESPACE {
namespace {

// One head of one sequence.
struct Head {
  const AttentionJob& job;
  int64_t batch, head;

  int64_t stride() const { return job.shape.qkv_stride; }
  int64_t time() const { return job.shape.time; }
  int64_t size() const { return job.shape.head_size; }
  int64_t ld() const { return job.padded_time(); }
  int64_t qkv_offset() const { return batch * time() * stride() + head * size(); }
  int64_t context_offset() const {
    return batch * time() * job.shape.context_stride + head * size();
  }
  // Row of query t in [B,N,T]; its probabilities begin at that times T in [B,N,T,T].
  int64_t row(int64_t t) const { return (batch * job.shape.heads + head) * time() + t; }
};

// Keys that a block of queries may see, from a whole sliver on.
struct KeyRange {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
  int64_t span() const { return round_up(end, kSliver) - begin; }
};
KeyRange visible_keys(const Head& h, const AttentionScratch& s, int64_t q0, int64_t rows) {
  const int64_t end = h.job.shape.causal ? q0 + rows : h.time();
  if (!h.job.shape.by_document) return {0, end};
  const int32_t first = *std::min_element(s.firsts + q0, s.firsts + q0 + rows);
  const int32_t last = *std::max_element(s.lasts + q0, s.lasts + q0 + rows);
  return {first / kSliver * kSliver, std::min<int64_t>(end, last + 1)};
}

// Where each token's document begins and ends.
void fill_documents(const Head& h, const AttentionScratch& s) {
  if (!h.job.shape.by_document) return;
  const int64_t time = h.time();
  int32_t* const documents = s.documents;
  std::copy_n(h.job.mask + h.batch * time, time, documents);
  std::fill(documents + time, documents + h.ld(), 0);
  for (int64_t t = 0; t < time; ++t) {
    const bool goes_on = t > 0 && documents[t] == documents[t - 1];
    s.firsts[t] =
        goes_on
            ? s.firsts[t - 1]
            : static_cast<int32_t>(std::find(documents, documents + t, documents[t]) - documents);
  }
  for (int64_t t = time - 1; t >= 0; --t) {
    const bool goes_on = t + 1 < time && documents[t] == documents[t + 1];
    int64_t last = time - 1;
    while (!goes_on && documents[last] != documents[t]) --last;
    s.lasts[t] = goes_on ? s.lasts[t + 1] : static_cast<int32_t>(last);
  }
}

void fill_bias(const Head& h, float* bias) {
  const int64_t time = h.time();
  const bool masked = h.job.mask != nullptr && !h.job.shape.by_document;
  const int32_t* const mask = masked ? h.job.mask + h.batch * time : nullptr;
  // Over padding alone the offset cancels in the softmax: leaving it out keeps the precision.
  const bool any =
      mask != nullptr && std::any_of(mask, mask + time, [](int32_t m) { return m != 0; });
  for (int64_t t = 0; t < time; ++t) bias[t] = any && mask[t] == 0 ? kMaskedScore : 0.0f;
  std::fill(bias + time, bias + h.ld(), kNoScore);
}

// Scores of keys of other documents than the query's.
void hide_other_documents(int32_t document, const int32_t* documents, int64_t span, float* row) {
  const VecI own = hn::Set(I32(), document);
  for (int64_t j = 0; j < span; j += kLanes) {
    const auto same = hn::RebindMask(F32(), hn::Eq(hn::Load(I32(), documents + j), own));
    hn::Store(hn::IfThenElse(same, hn::Load(F32(), row + j), set(kNoScore)), F32(), row + j);
  }
}

// scores[rows, keys] = scale * q k^T for queries q0.., in whole slivers of keys.
void score_block(const Head& h, const AttentionScratch& s, int64_t q0, int64_t rows,
                 const KeyRange& keys) {
  const float* const q = h.job.q + h.qkv_offset() + q0 * h.stride();
  panel_gemm<Walk::kRows>(rows, keys.span(), h.size(), PanelA::rows(q, h.stride()),
                          s.key_columns + keys.begin * h.size(), h.size(), {.alpha = h.job.scale()},
                          s.scores + keys.begin, h.ld());
  const int64_t end = keys.begin + keys.span();
  for (int64_t i = 0; i < rows; ++i) {
    float* const row = s.scores + i * h.ld();
    if (h.job.shape.causal) std::fill(row + std::min(end, q0 + i + 1), row + end, kNoScore);
    if (h.job.shape.by_document)
      hide_other_documents(s.documents[q0 + i], s.documents + keys.begin, keys.span(),
                           row + keys.begin);
  }
}

// Softmax of scores + bias, and dropout, of one row; returns the log-sum-exp.
float probability_row(const DropoutMask* mask, int64_t index, int64_t span, const float* bias,
                      float* row) {
  VecF most = set(kNoScore);
  for (int64_t j = 0; j < span; j += kLanes) {
    const VecF score = hn::Add(hn::Load(F32(), row + j), hn::Load(F32(), bias + j));
    most = hn::Max(most, score);
    hn::Store(score, F32(), row + j);
  }
  const float top = max_lanes(most);
  VecF total = hn::Zero(F32());
  for (int64_t j = 0; j < span; j += kLanes) {
    const VecF e = exp_bounded(hn::Sub(hn::Load(F32(), row + j), set(top)));
    total = hn::Add(total, e);
    hn::Store(e, F32(), row + j);
  }
  const float sum = sum_lanes(total);
  const VecF inverse = set(1.0f / sum);
  for_vector_groups(span, [=](int64_t j, auto group, int64_t) HW_INLINE_ATTR {
    VecF factor[decltype(group)::value];
    if (mask != nullptr) mask->factors(index + j, factor);
    for_each_vector(group, [&](auto v) HW_INLINE_ATTR {
      float* const at = row + j + v * kLanes;
      const VecF p = hn::Mul(hn::Load(F32(), at), inverse);
      hn::Store(mask != nullptr ? hn::Mul(p, factor[v]) : p, F32(), at);
    });
  });
  return top + std::log(sum);
}

void attention_head(const AttentionJob& job, int64_t batch, int64_t head,
                    const AttentionScratch& s) {
  const Head h{job, batch, head};
  const DropoutMask mask(job.dropout);
  pack_columns(h.size(), h.time(), job.k + h.qkv_offset(), h.stride(), s.key_columns);
  pack_rows(h.time(), h.size(), job.v + h.qkv_offset(), h.stride(), h.time(), s.value_rows);
  fill_bias(h, s.bias);
  fill_documents(h, s);
  for (int64_t q0 = 0; q0 < h.time(); q0 += kQueryBlock) {
    const int64_t rows = std::min(kQueryBlock, h.time() - q0);
    const KeyRange keys = visible_keys(h, s, q0, rows);
    score_block(h, s, q0, rows, keys);
    for (int64_t i = 0; i < rows; ++i)
      job.log_sum_exp[h.row(q0 + i)] = probability_row(
          job.dropout.active() ? &mask : nullptr, h.row(q0 + i) * h.time() + keys.begin,
          keys.span(), s.bias + keys.begin, s.scores + i * h.ld() + keys.begin);
    const int64_t stride = job.shape.context_stride;
    panel_gemm<Walk::kRows>(rows, h.size(), keys.size(),
                            PanelA::rows(s.scores + keys.begin, h.ld()),
                            s.value_rows + keys.begin * kSliver, h.time(), {},
                            job.context + h.context_offset() + q0 * stride, stride);
  }
}

// From scores and the gradient dp of the dropped probabilities of one row: the dropped
// probabilities (in scores) and the gradient of q k^T (in dp).
void gradient_row(const DropoutMask* mask, int64_t index, int64_t span, const float* bias,
                  float log_sum_exp, float scale, float* scores, float* dp) {
  VecF total = hn::Zero(F32());
  for_vector_groups(span, [=, &total](int64_t j, auto group, int64_t) HW_INLINE_ATTR {
    VecF factor[decltype(group)::value];
    if (mask != nullptr) mask->factors(index + j, factor);
    for_each_vector(group, [&](auto v) HW_INLINE_ATTR {
      float* const p_at = scores + j + v * kLanes;
      float* const dp_at = dp + j + v * kLanes;
      const VecF score = hn::Add(hn::Load(F32(), p_at), hn::Load(F32(), bias + j + v * kLanes));
      VecF p = exp_bounded(hn::Sub(score, set(log_sum_exp)));
      VecF d = hn::Load(F32(), dp_at);
      if (mask != nullptr) d = hn::Mul(d, factor[v]);
      total = hn::MulAdd(p, d, total);
      // A dropped probability is kept with a negative sign: both p and its mask are needed below.
      if (mask != nullptr) p = hn::IfThenElse(hn::Eq(factor[v], hn::Zero(F32())), hn::Neg(p), p);
      hn::Store(p, F32(), p_at);
      hn::Store(d, F32(), dp_at);
    });
  });
  const VecF mean = set(sum_lanes(total));
  const VecF keep = set(mask != nullptr ? mask->scale() : 1.0f);
  for (int64_t j = 0; j < span; j += kLanes) {
    const VecF p = hn::Load(F32(), scores + j), d = hn::Load(F32(), dp + j);
    hn::Store(hn::Mul(hn::Mul(hn::Abs(p), set(scale)), hn::Sub(d, mean)), F32(), dp + j);
    hn::Store(hn::Mul(hn::Max(p, hn::Zero(F32())), keep), F32(), scores + j);
  }
}

void zero_rows(int64_t rows, int64_t size, int64_t stride, float* x) {
  for (int64_t r = 0; r < rows; ++r) std::fill(x + r * stride, x + r * stride + size, 0.0f);
}

// Queries q0.. of one head: dq of the block, and its part of dk and dv.
void gradient_block(const Head& h, const AttentionScratch& s, const DropoutMask* mask, int64_t q0,
                    int64_t rows) {
  const AttentionJob& job = h.job;
  const KeyRange keys = visible_keys(h, s, q0, rows);
  const int64_t ld = h.ld(), size = h.size(), to = h.qkv_offset() + keys.begin * h.stride();
  float *const scores = s.scores + keys.begin, *const d_scores = s.d_scores + keys.begin;
  const int64_t at = h.qkv_offset() + q0 * h.stride();
  const float* const d_context = job.d_context + h.context_offset() + q0 * job.shape.context_stride;
  score_block(h, s, q0, rows, keys);
  panel_gemm<Walk::kRows>(rows, keys.span(), size,
                          PanelA::rows(d_context, job.shape.context_stride),
                          s.value_columns + keys.begin * size, size, {}, d_scores, ld);
  for (int64_t i = 0; i < rows; ++i)
    gradient_row(mask, h.row(q0 + i) * h.time() + keys.begin, keys.span(), s.bias + keys.begin,
                 job.saved_log_sum_exp[h.row(q0 + i)], job.scale(), scores + i * ld,
                 d_scores + i * ld);
  panel_gemm<Walk::kRows>(rows, size, keys.size(), PanelA::rows(d_scores, ld),
                          s.key_rows + keys.begin * kSliver, h.time(), {}, job.dq + at, h.stride());
  pack_rows(rows, size, job.q + at, h.stride(), rows, s.query_rows);
  panel_gemm<Walk::kColumns>(keys.size(), size, rows, PanelA::columns(d_scores, ld), s.query_rows,
                             rows, {.beta = 1.0f}, job.dk + to, h.stride());
  pack_rows(rows, size, d_context, job.shape.context_stride, rows, s.d_context_rows);
  panel_gemm<Walk::kColumns>(keys.size(), size, rows, PanelA::columns(scores, ld), s.d_context_rows,
                             rows, {.beta = 1.0f}, job.dv + to, h.stride());
}

void attention_gradient_head(const AttentionJob& job, int64_t batch, int64_t head,
                             const AttentionScratch& s) {
  const Head h{job, batch, head};
  const DropoutMask mask(job.dropout);
  pack_columns(h.size(), h.time(), job.k + h.qkv_offset(), h.stride(), s.key_columns);
  pack_rows(h.time(), h.size(), job.k + h.qkv_offset(), h.stride(), h.time(), s.key_rows);
  pack_columns(h.size(), h.time(), job.v + h.qkv_offset(), h.stride(), s.value_columns);
  fill_bias(h, s.bias);
  fill_documents(h, s);
  zero_rows(h.time(), h.size(), h.stride(), job.dk + h.qkv_offset());
  zero_rows(h.time(), h.size(), h.stride(), job.dv + h.qkv_offset());
  for (int64_t q0 = 0; q0 < h.time(); q0 += kQueryBlock)
    gradient_block(h, s, job.dropout.active() ? &mask : nullptr, q0,
                   std::min(kQueryBlock, h.time() - q0));
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace headwater::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headwater::kernels {
HWY_EXPORT(attention_head);
HWY_EXPORT(attention_gradient_head);
namespace {

// body(b, n, scratch) for every head of every sequence, in parallel.
template <class Body>
void for_heads(const AttentionJob& job, void* workspace, const Body& body) {
  ensure_isa();
  const int64_t heads = job.shape.heads, bytes = AttentionScratch(job, nullptr).bytes;
  parallel_for(job.shape.batch * heads, 1, [&](int64_t begin, int64_t end) {
    const AttentionScratch scratch(job,
                                   static_cast<std::byte*>(workspace) + thread_index() * bytes);
    for (int64_t i = begin; i < end; ++i) body(i / heads, i % heads, scratch);
  });
}

}  // namespace

int64_t attention_workspace_bytes(const AttentionShape& shape) {
  AttentionJob job{};
  job.shape = shape;
  return num_threads() * AttentionScratch(job, nullptr).bytes;
}

void attention_forward(const AttentionShape& shape, const float* q, const float* k, const float* v,
                       const int32_t* mask, const Dropout& dropout, float* context,
                       float* log_sum_exp, void* workspace) {
  AttentionJob job{shape, q, k, v, mask, dropout};
  job.context = context;
  job.log_sum_exp = log_sum_exp;
  for_heads(job, workspace, [&](int64_t b, int64_t n, const AttentionScratch& scratch) {
    HWY_DYNAMIC_DISPATCH(attention_head)(job, b, n, scratch);
  });
}

void attention_backward(const AttentionShape& shape, const float* q, const float* k, const float* v,
                        const int32_t* mask, const Dropout& dropout, const float* log_sum_exp,
                        const float* d_context, float* dq, float* dk, float* dv, void* workspace) {
  AttentionJob job{shape, q, k, v, mask, dropout};
  job.saved_log_sum_exp = log_sum_exp;
  job.d_context = d_context;
  job.dq = dq;
  job.dk = dk;
  job.dv = dv;
  for_heads(job, workspace, [&](int64_t b, int64_t n, const AttentionScratch& scratch) {
    HWY_DYNAMIC_DISPATCH(attention_gradient_head)(job, b, n, scratch);
  });
}

}  // namespace headwater::kernels
#endif  // HWY_ONCE
