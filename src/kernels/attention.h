// Scaled dot-product attention with dropout on the probabilities (Vaswani et al., 2017), fused: no
// [B,N,T,T] array exists. Forward keeps the log-sum-exp of every row; backward recomputes the
// probabilities and the dropout mask from it (Dao et al., "FlashAttention", 2022, with whole rows
// per query block, as rows fit in cache).
//
//   p = softmax(q k^T / sqrt(D) + (1 - mask) * -10000), context = dropout(p) v
//
// Rows may hold several documents, none of which sees another (packing): then only the keys from
// the first to the last token of the documents of a query block are looked at.
#pragma once

#include <cstdint>

#include "kernels/dropout.h"

namespace headwater::kernels {

// q, k, v, context and their gradients are [B*T, N*D]: what linear layers give, the N heads of a
// token side by side. Row strides in elements: N*D each, or 3*N*D for views into one [B*T, 3*N*D]
// array.
struct AttentionShape {
  int64_t batch, time, heads, head_size;
  int64_t qkv_stride;        // of q, k, v and dq, dk, dv
  int64_t context_stride;    // of context and its gradient
  bool causal = false;       // position t sees positions 0..t only
  bool by_document = false;  // the mask holds documents: a token sees those of its own number only
};

// Enough for forward and backward on num_threads() threads.
int64_t attention_workspace_bytes(const AttentionShape& shape);

// mask [B,T]: 1 for a real key, 0 for padding, whose scores get -10000 added; null when all keys
// are real. Rows whose keys are all padding attend uniformly to them. By document: any numbers; the
// tokens of one need not stand together, but speed comes from it. Dropout index of probability
// (b,n,tq,tk): its position in [B,N,T,T]. log_sum_exp is [B,N,T].
void attention_forward(const AttentionShape& shape, const float* q, const float* k, const float* v,
                       const int32_t* mask, const Dropout& dropout, float* context,
                       float* log_sum_exp, void* workspace);

// dq, dk, dv are written, not accumulated.
void attention_backward(const AttentionShape& shape, const float* q, const float* k, const float* v,
                        const int32_t* mask, const Dropout& dropout, const float* log_sum_exp,
                        const float* d_context, float* dq, float* dk, float* dv, void* workspace);

}  // namespace headwater::kernels
