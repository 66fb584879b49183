#include "kernels/cross_entropy.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cross_entropy.cc"
#include <hwy/foreach_target.h>

#include "base/checked.h"
#include "base/threads.h"
#include "kernels/blocking.h"
#include "kernels/isa.h"
#include "kernels/map-inl.h"
#include "kernels/micro_gemm-inl.h"

#ifndef HEADWATER_KERNELS_CROSS_ENTROPY_CC_
#define HEADWATER_KERNELS_CROSS_ENTROPY_CC_
namespace headwater::kernels {

// The vocabulary is cut into groups, each a task that walks its columns chunk by chunk; rows are
// taken in blocks, so that a block of logits [kRowBlock, kChunk] stays in L2.
constexpr int64_t kChunk = 256;
constexpr int64_t kRowBlock = 96;
constexpr int64_t kMaxGroups = 16;
static_assert(kChunk % kMaxSliver == 0 && kRowBlock % kMaxTileRows == 0);

// What a group of columns knows of one row.
struct RowState {
  float top, sum;  // maximum, and sum of e^(logit - top)
  float best;      // of the noisy logits
  int32_t arg_top, arg_best;
};

struct VocabularyJob {
  VocabularyShape shape;
  const float* h;
  const float* weight;
  const float* bias;
  const int32_t* targets;
  const GumbelSampling* sampling = nullptr;
  bool want_arg_top = false;
  RowState* states = nullptr;      // [groups, M]
  float* target_logits = nullptr;  // [M]
  const float* log_sum_exp = nullptr;
  const float* d_loss = nullptr;
  const float* packed_h = nullptr;  // [row block][slivers of E columns]
  float* dh_parts = nullptr;        // [groups, M, E]
  float accumulate = 0.0f;
  float* d_weight = nullptr;
  float* d_bias = nullptr;

  int64_t columns_of_group() const {
    return round_up(ceil_div(shape.vocabulary, kMaxGroups), kChunk);
  }
  int64_t groups() const { return ceil_div(shape.vocabulary, columns_of_group()); }
  int64_t padded_hidden() const { return round_up(shape.hidden, kMaxSliver); }
};

// Scratch of one thread.
struct VocabularyScratch {
  float* weight_columns;  // slivers of W^T of a chunk: kChunk columns
  float* weight_rows;     // slivers of W of a chunk: E columns
  float* logits;          // [kRowBlock, kChunk]
  int64_t bytes;

  VocabularyScratch(const VocabularyJob& job, void* memory) {
    Workspace workspace(memory);
    weight_columns = workspace.take<float>(kChunk * job.shape.hidden);
    weight_rows = workspace.take<float>(kChunk * job.padded_hidden());
    logits = workspace.take<float>(kRowBlock * kChunk);
    bytes = workspace.used();
  }
};

struct Chunk {
  int64_t begin, end;  // columns
  int64_t size() const { return end - begin; }
};

}  // namespace headwater::kernels
#endif  // HEADWATER_KERNELS_CROSS_ENTROPY_CC_

HWY_BEFORE_NAMESPACE();
namespace headwater::kernels {
namespace HWY_NAMESPACE {
namespace {

// -ln(-ln(u + 1e-9) + 1e-9).
HWY_INLINE VecF gumbel(VecF uniform) {
  const VecF tiny = set(1e-9f);
  return hn::Neg(log(hn::Sub(tiny, log(hn::Add(uniform, tiny)))));
}

HWY_INLINE VecF uniform_from_bits(VecU bits) {
  return hn::Mul(hn::ConvertTo(F32(), hn::BitCast(I32(), hn::ShiftRight<9>(bits))),
                 set(1.0f / 8388608.0f));
}

void gumbel_range(Key key, uint64_t offset, float* noise, int64_t begin, int64_t end) {
  const Threefry threefry(key);
  for (int64_t i = begin; i < end; i += kLanes) {
    VecU bits[1];
    threefry.bits(offset + static_cast<uint64_t>(i), bits);
    store_first(gumbel(uniform_from_bits(bits[0])), noise + i, end - i);
  }
}

// W of a chunk as slivers, in pieces of kMaxDepth of E (the k of the product).
void pack_weight_columns(const VocabularyJob& job, const Chunk& chunk, float* out) {
  const int64_t hidden = job.shape.hidden;
  for (int64_t e = 0; e < hidden; e += kMaxDepth)
    pack_columns(std::min(kMaxDepth, hidden - e), chunk.size(),
                 job.weight + chunk.begin * hidden + e, hidden, out + e * kChunk);
}

// Logits of rows [m0, m1) in a chunk, padding included: bias where the vocabulary ends is
// -infinity.
void logit_block(const VocabularyJob& job, const Chunk& chunk, int64_t m0, int64_t m1,
                 const VocabularyScratch& s) {
  const int64_t hidden = job.shape.hidden, span = round_up(chunk.size(), kSliver);
  for (int64_t e = 0; e < hidden; e += kMaxDepth) {
    const int64_t depth = std::min(kMaxDepth, hidden - e);
    panel_gemm<Walk::kRows>(m1 - m0, span, depth, PanelA::rows(job.h + m0 * hidden + e, hidden),
                            s.weight_columns + e * kChunk, depth, {.beta = e == 0 ? 0.0f : 1.0f},
                            s.logits, kChunk);
  }
  HWY_ALIGN float bias[kChunk];
  for (int64_t j = 0; j < span; ++j) {
    const float b = job.bias != nullptr && j < chunk.size() ? job.bias[chunk.begin + j] : 0.0f;
    bias[j] = j < chunk.size() ? b : -std::numeric_limits<float>::infinity();
  }
  for (int64_t i = 0; i < m1 - m0; ++i)
    for (int64_t j = 0; j < span; j += kLanes) {
      float* const at = s.logits + i * kChunk + j;
      hn::Store(hn::Add(hn::Load(F32(), at), hn::Load(F32(), bias + j)), F32(), at);
    }
}

// The running maximum of noisy logits of one row over a chunk. Both logarithms of the noise are
// computed only where they can matter: l / temperature + g beats `best` only if
// -ln(u + 1e-9) + 1e-9 < e^(l / temperature - best), and the left side is at least 1 - u.
class Sampler {
 public:
  Sampler(const VocabularyJob& job, const Chunk& chunk, int64_t row)
      : sampling_(*job.sampling),
        threefry_(job.sampling->key),
        chunk_(chunk),
        first_(row * job.shape.vocabulary + chunk.begin) {}

  // e[j] = e^((logits[j] - top) / temperature), zero beyond the chunk; top is a logit of this row
  // that takes part in the draw.
  void run(const float* logits, const float* e, int64_t span, float top, RowState& state) const {
    float bound = threshold(top, state.best);
    for_vector_groups(span, [&](int64_t j, auto group, int64_t) HW_INLINE_ATTR {
      constexpr int kCount = decltype(group)::value;
      VecU m[kCount];  // u = m 2^-23
      draws(j, m);
      VecF slack = set(-1.0f);  // positive where a draw may win
      for_each_vector(group, [&](auto v) HW_INLINE_ATTR {
        const VecI rest = hn::Sub(hn::Set(I32(), 1 << 23), hn::BitCast(I32(), m[v]));
        // A margin over the rounding of both sides.
        const VecF limit =
            hn::MulAdd(hn::Load(F32(), e + j + v * kLanes), set(bound), set(1e-6f * kDraws));
        slack = hn::Max(slack, hn::Sub(limit, hn::ConvertTo(F32(), rest)));
      });
      if (HWY_LIKELY(hn::AllTrue(F32(), hn::Lt(slack, hn::Zero(F32()))))) return;
      for_each_vector(group, [&](auto v) HW_INLINE_ATTR {
        update(logits + j + v * kLanes, j + v * kLanes, m[v], state);
      });
      bound = threshold(top, state.best);
    });
  }

 private:
  static constexpr float kDraws = 8388608.0f;  // 2^23, the number of values of u

  float threshold(float top, float best) const {
    // The element with the top logit reaches at least top / temperature - 3.04.
    const float scaled = top / sampling_.temperature;
    return 1.001f * kDraws * std::exp(scaled - std::max(best, scaled - 4.0f));
  }
  template <int kCount>
  HWY_INLINE void draws(int64_t j, VecU (&m)[kCount]) const {
    const auto group = std::integral_constant<int, kCount>();
    if (sampling_.uniforms == nullptr) {
      threefry_.bits(sampling_.offset + static_cast<uint64_t>(first_ + j), m);
      for_each_vector(group, [&](auto v) HW_INLINE_ATTR { m[v] = hn::ShiftRight<9>(m[v]); });
    } else {
      for_each_vector(group, [&](auto v) HW_INLINE_ATTR {
        const VecF u = uniforms(j + v * kLanes, m[v]);
        m[v] = hn::BitCast(U32(), hn::ConvertTo(I32(), hn::Mul(u, set(kDraws))));
      });
    }
  }
  HWY_INLINE VecF uniforms(int64_t j, VecU m) const {
    if (sampling_.uniforms == nullptr)
      return hn::Mul(hn::ConvertTo(F32(), hn::BitCast(I32(), m)), set(1.0f / kDraws));
    const int64_t count = chunk_.size() - j;
    return count > 0 ? load_first(sampling_.uniforms + first_ + j, count) : hn::Zero(F32());
  }
  HWY_NOINLINE void update(const float* logits, int64_t j, VecU m, RowState& state) const {
    HWY_ALIGN float noisy[kLanes];
    const VecF scaled = hn::Div(hn::Load(F32(), logits), set(sampling_.temperature));
    hn::Store(hn::Add(scaled, gumbel(uniforms(j, m))), F32(), noisy);
    for (int64_t lane = 0; lane < std::min(kLanes, chunk_.size() - j); ++lane) {
      if (!(noisy[lane] > state.best)) continue;
      state.best = noisy[lane];
      state.arg_best = static_cast<int32_t>(chunk_.begin + j + lane);
    }
  }

  const GumbelSampling& sampling_;
  Threefry threefry_;
  Chunk chunk_;
  int64_t first_;  // index of the chunk's first draw
};

float max_of(const float* x, int64_t span) {
  VecF most = hn::Load(F32(), x);
  for (int64_t j = kLanes; j < span; j += kLanes) most = hn::Max(most, hn::Load(F32(), x + j));
  return max_lanes(most);
}

// e[j] = e^((x[j] - top) * factor); returns the sum.
float exponentials(const float* x, int64_t span, float top, float factor, float* e) {
  VecF sum = hn::Zero(F32());
  for (int64_t j = 0; j < span; j += kLanes) {
    const VecF y = exp_bounded(hn::Mul(hn::Sub(hn::Load(F32(), x + j), set(top)), set(factor)));
    sum = hn::Add(sum, y);
    hn::Store(y, F32(), e + j);
  }
  return sum_lanes(sum);
}

// Takes one row of a chunk's logits into the state of the row.
void add_to_state(const VocabularyJob& job, const Chunk& chunk, int64_t row, float* logits,
                  RowState& state) {
  const int64_t span = round_up(chunk.size(), kSliver);
  HWY_ALIGN float e[kChunk];
  const float chunk_top = max_of(logits, span);
  if (chunk_top > state.top) {
    state.sum *= std::exp(state.top - chunk_top);
    state.top = chunk_top;
    if (job.want_arg_top)
      state.arg_top = static_cast<int32_t>(chunk.begin +
                                           (std::find(logits, logits + span, chunk_top) - logits));
  }
  state.sum += exponentials(logits, span, state.top, 1.0f, e);
  const int64_t target = job.targets[row] - chunk.begin;
  const bool here = target >= 0 && target < chunk.size();
  if (here) job.target_logits[row] = logits[target];
  if (job.sampling == nullptr) return;
  const Sampler sampler(job, chunk, row);
  const float temperature = job.sampling->temperature;
  if (temperature == 1.0f && !job.sampling->disallow_correct)
    return sampler.run(logits, e, span, state.top, state);
  if (here && job.sampling->disallow_correct) logits[target] -= 1000.0f;
  const float top = max_of(logits, span);
  exponentials(logits, span, top, 1.0f / temperature, e);
  sampler.run(logits, e, span, top, state);
}

template <class Body>
HWY_INLINE void for_chunks(const VocabularyJob& job, int64_t group, const Body& body) {
  const int64_t begin = group * job.columns_of_group();
  const int64_t end = std::min(job.shape.vocabulary, begin + job.columns_of_group());
  for (int64_t c = begin; c < end; c += kChunk) body(Chunk{c, std::min(end, c + kChunk)});
}

void vocabulary_group(const VocabularyJob& job, int64_t group, const VocabularyScratch& s) {
  const int64_t rows = job.shape.rows;
  RowState* const states = job.states + group * rows;
  const float lowest = -std::numeric_limits<float>::infinity();
  std::fill(states, states + rows, RowState{lowest, 0.0f, lowest, 0, 0});
  for_chunks(job, group, [&](const Chunk& chunk) HW_INLINE_ATTR {
    pack_weight_columns(job, chunk, s.weight_columns);
    for (int64_t m0 = 0; m0 < rows; m0 += kRowBlock) {
      const int64_t m1 = std::min(rows, m0 + kRowBlock);
      logit_block(job, chunk, m0, m1, s);
      for (int64_t m = m0; m < m1; ++m)
        add_to_state(job, chunk, m, s.logits + (m - m0) * kChunk, states[m]);
    }
  });
}

// Logits of a block to gradients of the logits: (softmax - one at the target) * d_loss.
void logit_gradients(const VocabularyJob& job, const Chunk& chunk, int64_t m0, int64_t m1,
                     float* logits, float* d_bias) {
  const int64_t span = round_up(chunk.size(), kSliver);
  for (int64_t m = m0; m < m1; ++m) {
    float* const row = logits + (m - m0) * kChunk;
    const VecF shift = set(job.log_sum_exp[m]), factor = set(job.d_loss[m]);
    for (int64_t j = 0; j < span; j += kLanes) {
      const VecF p = exp_bounded(hn::Sub(hn::Load(F32(), row + j), shift));
      hn::Store(hn::Mul(p, factor), F32(), row + j);
    }
    const int64_t target = job.targets[m] - chunk.begin;
    if (target >= 0 && target < chunk.size()) row[target] -= job.d_loss[m];
    for (int64_t j = 0; j < span; j += kLanes)
      hn::Store(hn::Add(hn::Load(F32(), d_bias + j), hn::Load(F32(), row + j)), F32(), d_bias + j);
  }
}

void vocabulary_gradient_chunk(const VocabularyJob& job, const Chunk& chunk, float* dh,
                               const VocabularyScratch& s) {
  const int64_t rows = job.shape.rows, hidden = job.shape.hidden;
  pack_weight_columns(job, chunk, s.weight_columns);
  pack_rows(chunk.size(), hidden, job.weight + chunk.begin * hidden, hidden, chunk.size(),
            s.weight_rows);
  HWY_ALIGN float d_bias[kChunk] = {};
  float* const d_weight = job.d_weight + chunk.begin * hidden;
  for (int64_t m0 = 0; m0 < rows; m0 += kRowBlock) {
    const int64_t m1 = std::min(rows, m0 + kRowBlock);
    logit_block(job, chunk, m0, m1, s);
    logit_gradients(job, chunk, m0, m1, s.logits, d_bias);
    panel_gemm<Walk::kRows>(m1 - m0, hidden, chunk.size(), PanelA::rows(s.logits, kChunk),
                            s.weight_rows, chunk.size(), {.beta = 1.0f}, dh + m0 * hidden, hidden);
    panel_gemm<Walk::kColumns>(chunk.size(), hidden, m1 - m0, PanelA::columns(s.logits, kChunk),
                               job.packed_h + m0 * job.padded_hidden(), m1 - m0,
                               {.beta = m0 == 0 ? job.accumulate : 1.0f}, d_weight, hidden);
  }
  if (job.d_bias == nullptr) return;
  for (int64_t j = 0; j < chunk.size(); ++j) {
    float& out = job.d_bias[chunk.begin + j];
    out = d_bias[j] + (job.accumulate == 0.0f ? 0.0f : job.accumulate * out);
  }
}

void vocabulary_gradient_group(const VocabularyJob& job, int64_t group,
                               const VocabularyScratch& s) {
  const int64_t size = job.shape.rows * job.shape.hidden;
  float* const dh = job.dh_parts + group * size;
  std::fill(dh, dh + size, 0.0f);
  for_chunks(job, group, [&](const Chunk& chunk) HW_INLINE_ATTR {
    vocabulary_gradient_chunk(job, chunk, dh, s);
  });
}

void pack_hidden(const VocabularyJob& job, int64_t m0, int64_t m1, float* out) {
  pack_rows(m1 - m0, job.shape.hidden, job.h + m0 * job.shape.hidden, job.shape.hidden, m1 - m0,
            out + m0 * job.padded_hidden());
}

void sum_parts(const VocabularyJob& job, int64_t begin, int64_t end, float* dh) {
  const int64_t size = job.shape.rows * job.shape.hidden, groups = job.groups();
  for_vectors(begin, end, [=, &job](auto load, auto store) HW_INLINE_ATTR {
    VecF total = load(job.dh_parts);
    for (int64_t g = 1; g < groups; ++g) total = hn::Add(total, load(job.dh_parts + g * size));
    store(total, dh);
  });
}

void softmax_cross_entropy_row(int64_t classes, const float* logits, int32_t target, float* loss,
                               float* log_sum_exp) {
  const float top = *std::max_element(logits, logits + classes);
  float sum = 0.0f;
  for (int64_t j = 0; j < classes; j += kLanes) {
    const VecF e = exp_bounded(hn::Sub(load_first(logits + j, classes - j), set(top)));
    sum += sum_lanes(hn::IfThenElseZero(hn::FirstN(F32(), static_cast<size_t>(classes - j)), e));
  }
  *log_sum_exp = top + std::log(sum);
  *loss = *log_sum_exp - logits[target];
}

void softmax_cross_entropy_gradient_row(int64_t classes, const float* logits, int32_t target,
                                        float log_sum_exp, float d_loss, float* d_logits) {
  for_vectors(0, classes, [=](auto load, auto store) HW_INLINE_ATTR {
    const VecF p = exp_bounded(hn::Sub(load(logits), set(log_sum_exp)));
    store(hn::Mul(p, set(d_loss)), d_logits);
  });
  d_logits[target] -= d_loss;
}

void sigmoid_cross_entropy_range(const float* logits, const float* labels, const float* weights,
                                 float* loss, float* derivative, int64_t begin, int64_t end) {
  for_vectors(begin, end, [=](auto load, auto store) HW_INLINE_ATTR {
    const VecF z = load(logits), y = load(labels);
    const VecF w = weights != nullptr ? load(weights) : set(1.0f);
    if (loss != nullptr) {
      const VecF soft = log_one_plus(exp_bounded(hn::Neg(hn::Abs(z))));
      const VecF value = hn::Add(hn::NegMulAdd(z, y, hn::Max(z, hn::Zero(F32()))), soft);
      store(hn::Mul(w, value), loss);
    }
    if (derivative != nullptr) store(hn::Mul(w, hn::Sub(sigmoid(z), y)), derivative);
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace headwater::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headwater::kernels {
HWY_EXPORT(gumbel_range);
HWY_EXPORT(vocabulary_group);
HWY_EXPORT(vocabulary_gradient_group);
HWY_EXPORT(pack_hidden);
HWY_EXPORT(sum_parts);
HWY_EXPORT(softmax_cross_entropy_row);
HWY_EXPORT(softmax_cross_entropy_gradient_row);
HWY_EXPORT(sigmoid_cross_entropy_range);
namespace {

// Groups' states of one row to the outputs, groups in order: ties go to the lowest column.
void finish_row(const VocabularyJob& job, int64_t m, const VocabularyOutputs& out) {
  const int64_t rows = job.shape.rows, groups = job.groups();
  RowState total = job.states[m];
  for (int64_t g = 1; g < groups; ++g) {
    const RowState& next = job.states[g * rows + m];
    if (next.top > total.top) {
      total.sum = total.sum * std::exp(total.top - next.top) + next.sum;
      total.top = next.top;
      total.arg_top = next.arg_top;
    } else {
      total.sum += next.sum * std::exp(next.top - total.top);
    }
    if (next.best > total.best) {
      total.best = next.best;
      total.arg_best = next.arg_best;
    }
  }
  const float log_sum_exp = total.top + std::log(total.sum);
  if (out.log_sum_exp != nullptr) out.log_sum_exp[m] = log_sum_exp;
  if (out.loss != nullptr) out.loss[m] = log_sum_exp - job.target_logits[m];
  if (out.prediction != nullptr) out.prediction[m] = total.arg_top;
  if (job.sampling != nullptr) job.sampling->sample[m] = total.arg_best;
}

template <class Body>
void for_groups(const VocabularyJob& job, void* scratch, const Body& body) {
  const int64_t bytes = VocabularyScratch(job, nullptr).bytes;
  parallel_for(job.groups(), 1, [&](int64_t begin, int64_t end) {
    const VocabularyScratch s(job, static_cast<std::byte*>(scratch) + thread_index() * bytes);
    for (int64_t g = begin; g < end; ++g) body(g, s);
  });
}

}  // namespace

int64_t vocabulary_cross_entropy_workspace_bytes(const VocabularyShape& shape) {
  VocabularyJob job{};
  job.shape = shape;
  Workspace forward(nullptr), backward(nullptr);
  forward.take<RowState>(job.groups() * shape.rows);
  forward.take<float>(shape.rows);
  backward.take<float>(round_up(shape.rows, kRowBlock) * job.padded_hidden());
  backward.take<float>(job.groups() * shape.rows * shape.hidden);
  return std::max(forward.used(), backward.used()) +
         num_threads() * VocabularyScratch(job, nullptr).bytes;
}

void vocabulary_cross_entropy_forward(const VocabularyShape& shape, const float* h,
                                      const float* weight, const float* bias,
                                      const int32_t* targets, const VocabularyOutputs& outputs,
                                      const GumbelSampling* sampling, void* workspace) {
  ensure_isa();
  VocabularyJob job{shape, h, weight, bias, targets, sampling, outputs.prediction != nullptr};
  Workspace memory(workspace);
  job.states = memory.take<RowState>(job.groups() * shape.rows);
  job.target_logits = memory.take<float>(shape.rows);
  std::fill_n(job.target_logits, shape.rows, 0.0f);  // kept by rows whose target is no class
  for_groups(job, memory.take<std::byte>(0), [&](int64_t group, const VocabularyScratch& s) {
    HWY_DYNAMIC_DISPATCH(vocabulary_group)(job, group, s);
  });
  for (int64_t m = 0; m < shape.rows; ++m) finish_row(job, m, outputs);
}

void vocabulary_cross_entropy_backward(const VocabularyShape& shape, const float* h,
                                       const float* weight, const float* bias,
                                       const int32_t* targets, const float* log_sum_exp,
                                       const float* d_loss, float* dh, float accumulate,
                                       float* d_weight, float* d_bias, void* workspace) {
  ensure_isa();
  VocabularyJob job{shape, h, weight, bias, targets};
  Workspace memory(workspace);
  float* const packed_h = memory.take<float>(round_up(shape.rows, kRowBlock) * job.padded_hidden());
  job.packed_h = packed_h;
  job.dh_parts = memory.take<float>(job.groups() * shape.rows * shape.hidden);
  job.log_sum_exp = log_sum_exp;
  job.d_loss = d_loss;
  job.accumulate = accumulate;
  job.d_weight = d_weight;
  job.d_bias = d_bias;
  parallel_for(shape.rows, kRowBlock, [&](int64_t m0, int64_t m1) {
    HWY_DYNAMIC_DISPATCH(pack_hidden)(job, m0, m1, packed_h);
  });
  for_groups(job, memory.take<std::byte>(0), [&](int64_t group, const VocabularyScratch& s) {
    HWY_DYNAMIC_DISPATCH(vocabulary_gradient_group)(job, group, s);
  });
  parallel_for(shape.rows * shape.hidden, 16384, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(sum_parts)(job, begin, end, dh);
  });
}

void gumbel_noise(Key key, uint64_t offset, float* noise, int64_t n) {
  ensure_isa();
  parallel_for(n, 8192, [=](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(gumbel_range)(key, offset, noise, begin, end);
  });
}

void softmax_cross_entropy_forward(int64_t rows, int64_t classes, const float* logits,
                                   const int32_t* targets, float* loss, float* log_sum_exp) {
  ensure_isa();
  parallel_for(rows, 8, [=](int64_t m0, int64_t m1) {
    for (int64_t m = m0; m < m1; ++m) HWY_DYNAMIC_DISPATCH(softmax_cross_entropy_row)
    (classes, logits + m * classes, targets[m], loss + m, log_sum_exp + m);
  });
}

void softmax_cross_entropy_backward(int64_t rows, int64_t classes, const float* logits,
                                    const int32_t* targets, const float* log_sum_exp,
                                    const float* d_loss, float* d_logits) {
  ensure_isa();
  parallel_for(rows, 8, [=](int64_t m0, int64_t m1) {
    for (int64_t m = m0; m < m1; ++m) HWY_DYNAMIC_DISPATCH(softmax_cross_entropy_gradient_row)
    (classes, logits + m * classes, targets[m], log_sum_exp[m], d_loss[m], d_logits + m * classes);
  });
}

void sigmoid_cross_entropy(int64_t n, const float* logits, const float* labels,
                           const float* weights, float* loss, float* derivative) {
  ensure_isa();
  parallel_for(n, 8192, [=](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(sigmoid_cross_entropy_range)
    (logits, labels, weights, loss, derivative, begin, end);
  });
}

}  // namespace headwater::kernels
#endif  // HWY_ONCE
