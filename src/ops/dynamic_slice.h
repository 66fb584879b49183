// What parts at a place that is a value have in common. As XLA does, a start from which the part
// would reach out of the whole is moved to the nearest from which it does not: no value can make an
// operator read or write foreign memory.
#pragma once

#include <span>

#include "graph/op.h"
#include "ops/strides.h"

namespace headwater {

// Operands first, first + 1, ..: one i32 scalar per axis.
void require_starts(const InferContext& c, size_t first, const Shape& whole, const Shape& part);

// Offset in the whole, which has these strides, of the part's first element.
int64_t part_offset(const KernelContext& c, size_t first, const Shape& whole, const Shape& part,
                    const Strides& strides);

}  // namespace headwater
