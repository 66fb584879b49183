// The memory plan of a graph on the CPU: which buffer every value lives in, and where in one arena
// each buffer lies.
//
// Values share a buffer when one is a view of the other, or when an operator may write its result
// over an operand that nobody reads afterwards; so a state update is made in place. What is left is
// copied after the last node: first what outputs and other states keep of the old state and of the
// feeds, then the new state. A buffer occupies its bytes from the node that
// writes it to the last node that reads it; buffers are placed by size, each at the lowest offset
// that is free during its life (the greedy-by-size order of Pisarchyk and Lee, "Efficient memory
// management for deep neural net inference", 2020).
#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"

namespace headwater {

struct PlannedBuffer {
  enum class Kind { kArena, kFeed, kState, kConstant };
  Kind kind = Kind::kArena;
  int64_t bytes = 0;
  int64_t offset = 0;           // in the arena
  int32_t first = 0, last = 0;  // nodes: written by, last read by
  int32_t source = -1;          // the node of a feed, state input or constant
};

struct BufferCopy {
  int32_t to, from;  // buffers
  int64_t bytes;
};

struct MemoryPlan {
  std::vector<std::vector<int32_t>> buffer_of;  // [node][output] -> index into buffers
  std::vector<int32_t> workspace_of;            // [node] -> index into buffers, or -1
  std::vector<int32_t> output_buffer;           // [graph output] -> index into buffers
  std::vector<PlannedBuffer> buffers;
  std::vector<BufferCopy> copies;  // after the last node, in this order
  int64_t arena_bytes = 0;
};

MemoryPlan plan_memory(const Graph& graph);

}  // namespace headwater
