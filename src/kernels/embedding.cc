#include "kernels/embedding.h"

#include <algorithm>

#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/embedding.cc"
#include <hwy/foreach_target.h>

#include "base/checked.h"
#include "base/threads.h"
#include "kernels/blocking.h"
#include "kernels/isa.h"
#include "kernels/map-inl.h"

#ifndef HEADWATER_KERNELS_EMBEDDING_CC_
#define HEADWATER_KERNELS_EMBEDDING_CC_
namespace headwater::kernels {
struct Occurrence {
  int32_t id, row;
  friend auto operator<=>(const Occurrence&, const Occurrence&) = default;
};
}  // namespace headwater::kernels
#endif  // HEADWATER_KERNELS_EMBEDDING_CC_

HWY_BEFORE_NAMESPACE();
namespace headwater::kernels {
namespace HWY_NAMESPACE {
namespace {

void embed_token(int64_t size, const float* word, const float* position, const float* type,
                 float* out) {
  for_vectors(0, size, [=](auto load, auto store) HW_INLINE_ATTR {
    const VecF x = hn::Add(load(word), load(position));
    store(type != nullptr ? hn::Add(x, load(type)) : x, out);
  });
}

void add_row(int64_t size, const float* x, float* y) {
  for_vectors(0, size,
              [=](auto load, auto store) HW_INLINE_ATTR { store(hn::Add(load(y), load(x)), y); });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace headwater::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headwater::kernels {
HWY_EXPORT(embed_token);
HWY_EXPORT(add_row);
namespace {
constexpr int64_t kRowGrain = 64;
}  // namespace

void gather_rows(int64_t count, int64_t size, const int32_t* ids, const float* table, float* out) {
  parallel_for(count, kRowGrain, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) std::copy_n(table + ids[i] * size, size, out + i * size);
  });
}

void embed_tokens(int64_t batch, int64_t time, int64_t size, const int32_t* word_ids,
                  const int32_t* type_ids, const EmbeddingTables& tables, float* out) {
  ensure_isa();
  parallel_for(batch * time, kRowGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) HWY_DYNAMIC_DISPATCH(embed_token)
    (size, tables.words + word_ids[i] * size, tables.positions + i % time * size,
     type_ids != nullptr ? tables.types + type_ids[i] * size : nullptr, out + i * size);
  });
}

int64_t scatter_add_rows_workspace_bytes(int64_t count) {
  return round_up(count * static_cast<int64_t>(sizeof(Occurrence)), kCacheLine);
}

void scatter_add_rows(int64_t count, int64_t size, const int32_t* ids, const float* dy,
                      float* d_table, void* workspace) {
  ensure_isa();
  Occurrence* const sorted = Workspace(workspace).take<Occurrence>(count);
  for (int64_t i = 0; i < count; ++i) sorted[i] = {ids[i], static_cast<int32_t>(i)};
  std::sort(sorted, sorted + count);
  // A task takes the runs of equal ids that begin in its range, so one thread owns a table row.
  parallel_for(count, kRowGrain, [=](int64_t begin, int64_t end) {
    const auto continues_run = [=](int64_t i) { return i > 0 && sorted[i].id == sorted[i - 1].id; };
    int64_t i = begin, stop = end;
    while (i < end && continues_run(i)) ++i;
    if (i == end) return;
    while (stop < count && continues_run(stop)) ++stop;
    for (; i < stop; ++i) HWY_DYNAMIC_DISPATCH(add_row)
    (size, dy + sorted[i].row * size, d_table + sorted[i].id * size);
  });
}

void position_gradient(int64_t batch, int64_t time, int64_t size, const float* dy,
                       float* d_positions) {
  ensure_isa();
  parallel_for(time, 8, [=](int64_t begin, int64_t end) {
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t t = begin; t < end; ++t)
        HWY_DYNAMIC_DISPATCH(add_row)(size, dy + (b * time + t) * size, d_positions + t * size);
  });
}

}  // namespace headwater::kernels
#endif  // HWY_ONCE
