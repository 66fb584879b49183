#include "ops/strides.h"

#include <algorithm>

#include "graph/graph.h"

namespace headwater {

Strides row_major_strides(const Shape& shape) {
  Strides strides{};
  int64_t stride = 1;
  for (size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= shape[axis];
  }
  return strides;
}

std::vector<int64_t> normalized_axes(std::vector<int64_t> axes, int64_t rank) {
  for (int64_t& axis : axes) {
    if (axis < -rank || axis >= rank) {
      throw GraphError(fmt::format("axis {} does not exist at rank {}", axis, rank));
    }
    if (axis < 0) axis += rank;
  }
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end()) {
    throw GraphError("an axis is named twice");
  }
  return axes;
}

}  // namespace headwater
