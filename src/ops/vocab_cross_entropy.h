// What the vocabulary cross-entropy and its gradient share.
#pragma once

#include "graph/op.h"
#include "kernels/cross_entropy.h"

namespace headwater {

// Checks h [M, E], weight [V, E], bias [V], targets i32 [M] as operands 0..3.
void check_vocab_operands(const InferContext& c);

// The kernel's description of h [M, E] and weight [V, E].
kernels::VocabularyShape vocabulary_shape(const Type& h, const Type& weight);

// Targets as rows of 0 and 1: f32 [M, V].
Value one_hot(Value targets, int64_t num_classes);

}  // namespace headwater
