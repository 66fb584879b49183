// Index arithmetic of the shape operators: walking a tensor through permuted or repeated strides.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/threads.h"
#include "graph/graph.h"

namespace headwater {

// Per axis, elements to skip to the next one. An array, so that kernels allocate nothing.
using Strides = std::array<int64_t, kMaxRank>;

// Of a dense row-major tensor.
Strides row_major_strides(const Shape& shape);

// Goes through the elements of `extents` in row-major order from the one numbered `begin`, while
// offset() follows `strides`. Extents must outlive the walk.
class StridedWalk {
 public:
  StridedWalk(std::span<const int64_t> extents, const Strides& strides, int64_t begin = 0)
      : extents_(extents), strides_(strides) {
    for (size_t axis = extents.size(); axis-- > 0 && begin > 0;) {
      index_[axis] = begin % extents[axis];
      begin /= extents[axis];
      offset_ += index_[axis] * strides[axis];
    }
  }

  int64_t offset() const { return offset_; }
  void next() {
    for (size_t axis = extents_.size(); axis-- > 0;) {
      offset_ += strides_[axis];
      if (++index_[axis] < extents_[axis]) break;
      offset_ -= strides_[axis] * extents_[axis];
      index_[axis] = 0;
    }
  }

 private:
  std::span<const int64_t> extents_;
  Strides strides_;
  std::array<int64_t, kMaxRank> index_{};
  int64_t offset_ = 0;
};

// Calls body(flat, offset) for every element of `extents` in row-major order, where offset walks by
// `strides`. Parallel over ranges of elements.
template <class F>
void for_each_strided(std::span<const int64_t> extents, const Strides& strides, F body) {
  constexpr int64_t kGrain = 1 << 14;
  int64_t size = 1;
  for (const int64_t extent : extents) size *= extent;
  parallel_for(size, kGrain, [&](int64_t begin, int64_t end) {
    StridedWalk walk(extents, strides, begin);
    for (int64_t flat = begin; flat < end; ++flat, walk.next()) body(flat, walk.offset());
  });
}

// Negative axes counted from the end, checked, sorted, without repetition; throws GraphError.
std::vector<int64_t> normalized_axes(std::vector<int64_t> axes, int64_t rank);

}  // namespace headwater
