// What operators with random bits share: the Threefry-2x32 block function on graph values
// (base/threefry.h) for decompositions, and the check of their site.
#pragma once

#include <utility>

#include "graph/op.h"

namespace headwater {

// Both words for counters (c0, c1), u32 of one shape, under key u32[2].
std::pair<Value, Value> threefry(Value key, Value c0, Value c1);

// Attribute "site", which fold_in() takes: 32 bits.
void require_site(const InferContext& c);

}  // namespace headwater
