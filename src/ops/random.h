// What operators with random bits share: the Threefry-2x32 block function on graph values
// (base/threefry.h) for decompositions, and the check of their site.
//
// Bits belong to an element of the whole batch. N replicas hold a share of it each, and every
// operand of an operator with random bits has the batch as its leading axis (rows, or sequences);
// so the first element of replica r of an operand of `count` elements is number r * count, and N
// replicas of B / N sequences draw what one of B draws. Only random_bits knows this: every other
// operator draws through it. On the CPU, which has one replica, kernels count from 0.
#pragma once

#include <utility>

#include "graph/op.h"

namespace headwater {

// Both words for counters (c0, c1), u32 of one shape, under key u32[2].
std::pair<Value, Value> threefry(Value key, Value c0, Value c1);

// High and low words, u32 [count], of the numbers of this replica's elements in the whole batch:
// replica * count + i; replica u32 [] below 2^16, count at most 2^32.
std::pair<Value, Value> element_counters(Value replica, int64_t count);

// Copies a graph, with all calls of fold_in() under one key as one evaluation: a training step has
// one per layer and site, and every instruction on two words costs a compiler as much as one on a
// million.
void join_fold_ins(const Graph& from, Graph& into);

// Attribute "site", which fold_in() takes: 32 bits.
void require_site(const InferContext& c);

}  // namespace headwater
