// Attention of a few new tokens to a cache that holds the keys and values of all tokens so far: one
// step of decoding, or one block of a prompt. Nothing is kept for a backward pass, and there is no
// dropout and no padding (attention.h has those).
//
//   p = softmax(q k^T / sqrt(D)), context = p v
#pragma once

#include <cstdint>

namespace headwater::kernels {

// q and context are [B, T, N*D], keys and values [B, C, N*D].
struct CachedAttentionShape {
  int64_t batch, time, capacity, heads, head_size;
};

// On num_threads() threads.
int64_t cached_attention_workspace_bytes(const CachedAttentionShape& shape);

// Query i sees rows 0 .. position + i; position + T is at most C.
void cached_attention(const CachedAttentionShape& shape, const float* q, const float* k,
                      const float* v, int64_t position, float* context, void* workspace);

}  // namespace headwater::kernels
