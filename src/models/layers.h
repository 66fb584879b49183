// The layers that BERT and ELECTRA share: embeddings and the post-norm Transformer encoder (Vaswani
// et al. 2017; Devlin et al. 2019), under Hugging Face's parameter names.
//
// Tokens are rows: an activation is [B T, H]. B batch, T time, E embedding size, H hidden size, F
// intermediate size.
#pragma once

#include "models/electra_config.h"
#include "models/scope.h"

namespace headwater {

// What the layers of one forward pass have in common.
struct ForwardContext {
  Value key;             // u32[2]: this step's key, for dropout
  bool training = true;  // false: no dropout
  int64_t batch_size = 0, seq_length = 0;

  double rate(double probability) const { return training ? probability : 0; }
};

// weight [out, in], bias [out] of a fully connected layer at scope.weight, scope.bias.
struct LinearParameters {
  Value weight, bias;
};
LinearParameters linear_parameters(const Scope& scope, int64_t in, int64_t out, Initializer init);

struct LayerNormParameters {
  Value gamma, beta;  // scope.weight, scope.bias: [H]
};
LayerNormParameters layer_norm_parameters(const Scope& scope, int64_t size);

struct EmbeddingTables {
  Value word;        // [V, E]
  Value position;    // [P, E]
  Value token_type;  // [2, E]
  LayerNormParameters norm;
};
EmbeddingTables embedding_tables(const Scope& scope, const ElectraConfig& config);
// Notes that the tables at `scope` are those at `of` (two networks sharing them).
void alias_embedding_tables(const Scope& scope, const Scope& of);

// word + position + token type, layer norm, dropout: ids, token types i32 [B, T] -> [B T, E].
Value embed(const EmbeddingTables& tables, Value ids, Value token_types, const Scope& scope,
            const ElectraConfig& config, const ForwardContext& context);

// embeddings_project (only where E differs from H) and all layers: [B T, E] -> [B T, H].
// attention_mask i32 [B, T].
Value encode(const Scope& scope, Value x, Value attention_mask, const ElectraConfig& config,
             const ForwardContext& context);

}  // namespace headwater
