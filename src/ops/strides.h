// Index arithmetic of the shape operators: walking a tensor through permuted or repeated strides.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/tensor.h"
#include "base/threads.h"

namespace headwater {

// Elements to skip per axis of a dense row-major tensor.
std::vector<int64_t> row_major_strides(const Shape& shape);

// Calls body(flat, offset) for every element of `shape` in row-major order, where offset walks by
// `strides`. Parallel over ranges of elements.
template <class F>
void for_each_strided(const Shape& shape, const std::vector<int64_t>& strides, F body) {
  constexpr int64_t kGrain = 1 << 14;
  const int64_t size = element_count(shape);
  const auto rank = static_cast<int64_t>(shape.size());
  parallel_for(size, kGrain, [&](int64_t begin, int64_t end) {
    std::vector<int64_t> index(shape.size());
    int64_t offset = 0;
    int64_t rest = begin;
    for (int64_t axis = rank - 1; axis >= 0; --axis) {
      const auto a = static_cast<size_t>(axis);
      index[a] = rest % shape[a];
      rest /= shape[a];
      offset += index[a] * strides[a];
    }
    for (int64_t flat = begin; flat < end; ++flat) {
      body(flat, offset);
      for (int64_t axis = rank - 1; axis >= 0; --axis) {
        const auto a = static_cast<size_t>(axis);
        offset += strides[a];
        if (++index[a] < shape[a]) break;
        offset -= strides[a] * shape[a];
        index[a] = 0;
      }
    }
  });
}

// Negative axes counted from the end, checked, sorted, without repetition; throws GraphError.
std::vector<int64_t> normalized_axes(std::vector<int64_t> axes, int64_t rank);

}  // namespace headwater
