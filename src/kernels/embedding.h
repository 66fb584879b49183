// Rows of tables: lookups and their gradients. A gradient is summed per table row in the order of
// the batch, whatever the number of threads; no dense gradient is made where the caller does not
// ask.
#pragma once

#include <cstdint>

namespace headwater::kernels {

// out[i] = table[ids[i]], rows of `size`. ids must be in range: the caller checks user data.
void gather_rows(int64_t count, int64_t size, const int32_t* ids, const float* table, float* out);

// out[i] = words[word_ids[i]] + positions[i % time] + types[type_ids[i]] for i < batch * time,
// added in that order (BERT). types and type_ids may both be null.
struct EmbeddingTables {
  const float* words;
  const float* positions;
  const float* types = nullptr;
};
void embed_tokens(int64_t batch, int64_t time, int64_t size, const int32_t* word_ids,
                  const int32_t* type_ids, const EmbeddingTables& tables, float* out);

// d_table[ids[i]] += dy[i]: the transpose of gather_rows. Only rows that occur are touched.
int64_t scatter_add_rows_workspace_bytes(int64_t count);
void scatter_add_rows(int64_t count, int64_t size, const int32_t* ids, const float* dy,
                      float* d_table, void* workspace);

// d_positions[t] += sum over the batch of dy[b,t].
void position_gradient(int64_t batch, int64_t time, int64_t size, const float* dy,
                       float* d_positions);

}  // namespace headwater::kernels
