#include "models/layers.h"

#include "ops/ops.h"

namespace headwater {
namespace {

Initializer normal(const ElectraConfig& config) {
  return Initializer::truncated_normal(config.initializer_range);
}

Value dense(const Scope& scope, Value x, int64_t out, const ElectraConfig& config) {
  const LinearParameters p = linear_parameters(scope, x.dim(1), out, normal(config));
  return linear(x, p.weight, p.bias);
}

// layer_norm(x + dropout(h)) with the norm's parameters at scope.LayerNorm.
Value add_and_norm(const Scope& scope, Value x, Value h, const ElectraConfig& config,
                   const ForwardContext& context) {
  const LayerNormParameters norm = layer_norm_parameters(scope / "LayerNorm", x.dim(1));
  return residual_layer_norm(x, h, norm.gamma, norm.beta, context.key,
                             {.eps = config.layer_norm_eps,
                              .dropout_rate = context.rate(config.hidden_dropout_prob),
                              .site = scope.site("dropout")});
}

Value self_attention(const Scope& scope, Value x, Value attention_mask, const ElectraConfig& config,
                     const ForwardContext& context) {
  const Shape batched{context.batch_size, context.seq_length, config.hidden_size};
  const Scope self = scope / "self";
  const auto project = [&](std::string_view name) {
    return reshape(dense(self / name, x, config.hidden_size, config), batched);
  };
  const Value q = project("query"), k = project("key"), v = project("value");
  const Value mixed = attention(q, k, v, attention_mask, context.key,
                                {.num_heads = config.num_attention_heads,
                                 .dropout_rate = context.rate(config.attention_probs_dropout_prob),
                                 .site = self.site("dropout")});
  const Scope output = scope / "output";
  const Value h = dense(output / "dense", reshape(mixed, x.shape()), config.hidden_size, config);
  return add_and_norm(output, x, h, config, context);
}

Value encoder_layer(const Scope& scope, Value x, Value attention_mask, const ElectraConfig& config,
                    const ForwardContext& context) {
  const Value y = self_attention(scope / "attention", x, attention_mask, config, context);
  const LinearParameters inner =
      linear_parameters(scope / "intermediate" / "dense", config.hidden_size,
                        config.intermediate_size, normal(config));
  const Value h = linear_gelu(y, inner.weight, inner.bias);
  const Scope output = scope / "output";
  return add_and_norm(output, y, dense(output / "dense", h, config.hidden_size, config), config,
                      context);
}

constexpr const char* kTableNames[] = {"word_embeddings.weight", "position_embeddings.weight",
                                       "token_type_embeddings.weight", "LayerNorm.weight",
                                       "LayerNorm.bias"};

}  // namespace

LinearParameters linear_parameters(const Scope& scope, int64_t in, int64_t out, Initializer init) {
  return {scope.param("weight", {out, in}, init), scope.param("bias", {out}, Initializer::zeros())};
}

LayerNormParameters layer_norm_parameters(const Scope& scope, int64_t size) {
  return {scope.param("weight", {size}, Initializer::ones()),
          scope.param("bias", {size}, Initializer::zeros())};
}

EmbeddingTables embedding_tables(const Scope& scope, const ElectraConfig& config) {
  const int64_t width = config.embedding_size;
  return {scope.param(kTableNames[0], {config.vocab_size, width}, normal(config)),
          scope.param(kTableNames[1], {config.max_position_embeddings, width}, normal(config)),
          scope.param(kTableNames[2], {config.type_vocab_size, width}, normal(config)),
          layer_norm_parameters(scope / "LayerNorm", width)};
}

void alias_embedding_tables(const Scope& scope, const Scope& of) {
  for (const char* name : kTableNames) {
    scope.tree().alias(fmt::format("{}.{}", scope.path(), name),
                       fmt::format("{}.{}", of.path(), name));
  }
}

Value embed(const EmbeddingTables& tables, Value ids, Value token_types, const Scope& scope,
            const ElectraConfig& config, const ForwardContext& context) {
  const int64_t tokens = context.batch_size * context.seq_length;
  const int64_t width = config.embedding_size;
  if (context.seq_length > config.max_position_embeddings) {
    throw GraphError(fmt::format("sequences of {} tokens do not fit max_position_embeddings {}",
                                 context.seq_length, config.max_position_embeddings));
  }
  const Value positions = slice(tables.position, {0, 0}, {context.seq_length, width});
  const Value word_and_type =
      add(gather_rows(tables.word, ids), gather_rows(tables.token_type, token_types));
  const Value x = reshape(add(word_and_type, positions), {tokens, width});
  const Value y = layer_norm(x, tables.norm.gamma, tables.norm.beta, config.layer_norm_eps);
  return dropout(y, context.key, context.rate(config.hidden_dropout_prob), scope.site("dropout"));
}

Value encode(const Scope& scope, Value x, Value attention_mask, const ElectraConfig& config,
             const ForwardContext& context) {
  if (config.embedding_size != config.hidden_size) {
    const LinearParameters project =
        linear_parameters(scope / "embeddings_project", config.embedding_size, config.hidden_size,
                          Initializer::glorot_uniform());
    x = linear(x, project.weight, project.bias);
  }
  for (int64_t i = 0; i < config.num_hidden_layers; ++i) {
    x = encoder_layer(scope / "encoder" / "layer" / i, x, attention_mask, config, context);
  }
  return x;
}

}  // namespace headwater
