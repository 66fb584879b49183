// Layers that the model families share, under Hugging Face's parameter names: embeddings, the
// post-norm Transformer encoder of BERT and ELECTRA (Vaswani et al. 2017; Devlin et al. 2019), and
// what every head starts from.
//
// Tokens are rows: an activation is [B T, H]. B batch, T time, E embedding size, H hidden size, F
// intermediate size.
#pragma once

#include "models/scope.h"
#include "ops/ops.h"

namespace headwater {

// What the layers of one forward pass have in common.
struct ForwardContext {
  Value key;             // u32[2]: this step's key, for dropout
  bool training = true;  // false: no dropout
  int64_t batch_size = 0, seq_length = 0;

  double rate(double probability) const { return training ? probability : 0; }
  Shape tokens() const { return {batch_size, seq_length}; }
};

// What a model reads: i32 [B, T] each; all but the ids may be invalid.
struct TokenInputs {
  Value input_ids;
  Value attention_mask;  // 1 for a token, 0 for padding; invalid: no padding
  Value token_type_ids;  // invalid: all 0
  // Rows that hold several documents (packing): their numbers, 0 for padding. A document stands
  // together, and none sees another. Invalid: a row is one.
  Value document_ids;
  Value position_ids;  // invalid: 0, 1, 2, .. in every document
};

// The sizes of an encoder, whatever family it belongs to.
struct EncoderConfig {
  int64_t vocab_size, embedding_size, hidden_size, num_hidden_layers, num_attention_heads;
  int64_t intermediate_size, max_position_embeddings, type_vocab_size;
  double hidden_dropout_prob, attention_probs_dropout_prob, layer_norm_eps;
  GeluForm activation;
  Initializer tables, weights;  // of fresh parameters
};

// The form of GELU that a Hugging Face activation name means: "gelu", "gelu_new",
// "gelu_pytorch_tanh".
GeluForm gelu_form_of(std::string_view activation);

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
EmbeddingTables embedding_tables(const Scope& scope, const EncoderConfig& config);
// Notes that the tables at `scope` are those at `of` (two networks sharing them).
void alias_embedding_tables(const Scope& scope, const Scope& of);

// The mask as given, or as the documents say, or of no padding: i32 [B, T].
Value attention_mask_of(const TokenInputs& inputs, const ForwardContext& context);
// What tells attention which tokens see each other, i32 [B, T]: the mask, or by document numbers.
struct Visibility {
  Value mask;
  bool by_document = false;
};
Visibility visibility_of(const TokenInputs& inputs, const ForwardContext& context);
// Rows of a position table [P, E] for every token: [T, E] or, with position ids, [B, T, E]. Throws
// GraphError when T is more than P (`limit_name` in the message).
Value positions_of(Value table, const TokenInputs& inputs, std::string_view limit_name,
                   const ForwardContext& context);

// word + position + token type, layer norm, dropout: [B T, E].
Value embed(const EmbeddingTables& tables, const TokenInputs& inputs, const Scope& scope,
            const EncoderConfig& config, const ForwardContext& context);

// embeddings_project (only where E differs from H) and all layers: [B T, E] -> [B T, H].
Value encode(const Scope& scope, Value x, const Visibility& visibility, const EncoderConfig& config,
             const ForwardContext& context);

// The state of each sequence's first token ([CLS]): [B T, H] -> [B, H].
Value first_tokens(Value hidden, const ForwardContext& context);

// Row of each slot in the flattened batch: positions i32 [B, N] -> b T + position, i32 [B N].
Value flat_positions(Value positions, const ForwardContext& context);

}  // namespace headwater
