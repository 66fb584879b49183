// Slices of partitioned variables: where a slice lies in its tensor, under which key the index has
// it, and how slices become the whole. Apart from the bundle because it is arithmetic on shapes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "base/tensor.h"
#include "checkpoints/tf_bundle.h"

namespace headwater {

namespace tf {
class BundleSlice;  // checkpoints/tf_bundle.proto
}

struct TfSlice {
  std::vector<TfExtent> extents;  // as the index has them
  Shape start, length;            // one per dimension, whole dimensions resolved
};

// Against the shape of the whole tensor.
Result<TfSlice> resolve_slice(const tf::BundleSlice& slice, const Shape& shape);

// Every element must be in exactly one slice; the error names a hole or an overlap.
Result<> check_cover(std::span<const TfSlice> slices, const Shape& shape);

// Puts the bytes of a slice into its place of `whole`, a tensor of `shape`.
void copy_slice(std::span<const uint8_t> bytes, const TfSlice& slice, const Shape& shape,
                int64_t element_bytes, uint8_t* whole);

}  // namespace headwater
