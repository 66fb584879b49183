// What attention means in primitives, shared by the operators and the gradient.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "kernels/attention.h"

namespace headwater {

// q, k [B, T, H], attention_mask i32 [B, T] -> scores [B, N, T, T], scaled and masked.
Value attention_scores(Value q, Value k, Value mask, const Attrs& attrs);
// [B, T, H] -> [B, N, T, D].
Value split_heads(Value x, int64_t heads);
// The way back.
Value join_heads(Value x);
// Over the last axis: the probabilities, and with them the log of the sum of e^x.
struct SoftmaxParts {
  Value probabilities, log_sum_exp;
};
SoftmaxParts softmax_in_primitives(Value scores);
// The kernel's description of operand 0, q [B, T, H].
kernels::AttentionShape attention_shape(const Type& q, const Attrs& attrs);
// Checks operands 0..4 (q, k, v, attention_mask, key) and the attributes.
struct InferContext;
void check_attention(const InferContext& c);

}  // namespace headwater
