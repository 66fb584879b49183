// The Threefry-2x32 block function on graph values (base/threefry.h), for decompositions.
#pragma once

#include <utility>

#include "graph/graph.h"

namespace headwater {

// Both words for counters (c0, c1), u32 of one shape, under key u32[2].
std::pair<Value, Value> threefry(Value key, Value c0, Value c1);

}  // namespace headwater
