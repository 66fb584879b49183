#include "models/layers.h"

namespace headwater {
namespace {

Value dense(const Scope& scope, Value x, int64_t out, const EncoderConfig& config) {
  const LinearParameters p = linear_parameters(scope, x.dim(1), out, config.weights);
  return linear(x, p.weight, p.bias);
}

// layer_norm(x + dropout(h)) with the norm's parameters at scope.LayerNorm.
Value add_and_norm(const Scope& scope, Value x, Value h, const EncoderConfig& config,
                   const ForwardContext& context) {
  const LayerNormParameters norm = layer_norm_parameters(scope / "LayerNorm", x.dim(1));
  return residual_layer_norm(x, h, norm.gamma, norm.beta, context.key,
                             {.eps = config.layer_norm_eps,
                              .dropout_rate = context.rate(config.hidden_dropout_prob),
                              .site = scope.site("dropout")});
}

Value self_attention(const Scope& scope, Value x, const Visibility& visibility,
                     const EncoderConfig& config, const ForwardContext& context) {
  const Shape batched{context.batch_size, context.seq_length, config.hidden_size};
  const Scope self = scope / "self";
  const auto project = [&](std::string_view name) {
    return reshape(dense(self / name, x, config.hidden_size, config), batched);
  };
  const Value q = project("query"), k = project("key"), v = project("value");
  const Value mixed = attention(q, k, v, visibility.mask, context.key,
                                {.num_heads = config.num_attention_heads,
                                 .dropout_rate = context.rate(config.attention_probs_dropout_prob),
                                 .site = self.site("dropout"),
                                 .by_document = visibility.by_document});
  const Scope output = scope / "output";
  const Value h = dense(output / "dense", reshape(mixed, x.shape()), config.hidden_size, config);
  return add_and_norm(output, x, h, config, context);
}

Value encoder_layer(const Scope& scope, Value x, const Visibility& visibility,
                    const EncoderConfig& config, const ForwardContext& context) {
  const Value y = self_attention(scope / "attention", x, visibility, config, context);
  const LinearParameters inner =
      linear_parameters(scope / "intermediate" / "dense", config.hidden_size,
                        config.intermediate_size, config.weights);
  const Value h = linear_gelu(y, inner.weight, inner.bias, config.activation);
  const Scope output = scope / "output";
  return add_and_norm(output, y, dense(output / "dense", h, config.hidden_size, config), config,
                      context);
}

// x[.., t - distance], and 0 before the first.
Value moved_right(Value x, int64_t distance) {
  const int64_t b = x.dim(0), t = x.dim(1);
  return pad(slice(x, {0, 0}, {b, t - distance}), {0, distance}, {0, 0});
}

// 0, 1, 2, .. in every stretch of one number [B, T]: the distance to where it begins, the largest
// beginning so far (in log2 T steps).
Value positions_in_documents(Value document_ids) {
  const Value place = iota(document_ids.graph(), DType::kI32, document_ids.shape(), 1);
  const Value goes_on =
      compare(document_ids, moved_right(document_ids, std::min<int64_t>(1, document_ids.dim(1))),
              Direction::kEqual);
  Value begin = select(goes_on, constant_like(place, 0), place);
  for (int64_t distance = 1; distance < document_ids.dim(1); distance *= 2)
    begin = maximum(begin, moved_right(begin, distance));
  return sub(place, begin);
}

constexpr const char* kTableNames[] = {"word_embeddings.weight", "position_embeddings.weight",
                                       "token_type_embeddings.weight", "LayerNorm.weight",
                                       "LayerNorm.bias"};

}  // namespace

GeluForm gelu_form_of(std::string_view activation) {
  return activation == "gelu" ? GeluForm::kErf : GeluForm::kTanh;
}

LinearParameters linear_parameters(const Scope& scope, int64_t in, int64_t out, Initializer init) {
  return {scope.param("weight", {out, in}, init), scope.param("bias", {out}, Initializer::zeros())};
}

LayerNormParameters layer_norm_parameters(const Scope& scope, int64_t size) {
  return {scope.param("weight", {size}, Initializer::ones()),
          scope.param("bias", {size}, Initializer::zeros())};
}

EmbeddingTables embedding_tables(const Scope& scope, const EncoderConfig& config) {
  const int64_t width = config.embedding_size;
  Initializer other = config.tables;
  other.zero_row = -1;  // the padding row is the word table's
  return {scope.param(kTableNames[0], {config.vocab_size, width}, config.tables),
          scope.param(kTableNames[1], {config.max_position_embeddings, width}, other),
          scope.param(kTableNames[2], {config.type_vocab_size, width}, other),
          layer_norm_parameters(scope / "LayerNorm", width)};
}

void alias_embedding_tables(const Scope& scope, const Scope& of) {
  for (const char* name : kTableNames) {
    scope.tree().alias(fmt::format("{}.{}", scope.path(), name),
                       fmt::format("{}.{}", of.path(), name));
  }
}

Value attention_mask_of(const TokenInputs& inputs, const ForwardContext& context) {
  if (inputs.attention_mask.valid()) return inputs.attention_mask;
  const Value documents = inputs.document_ids;
  if (documents.valid()) {
    return convert(compare(documents, constant_like(documents, 0), Direction::kNotEqual),
                   DType::kI32);
  }
  return constant(inputs.input_ids.graph(), 1, DType::kI32, context.tokens());
}

Visibility visibility_of(const TokenInputs& inputs, const ForwardContext& context) {
  if (!inputs.document_ids.valid()) return {attention_mask_of(inputs, context), false};
  if (!inputs.attention_mask.valid()) return {inputs.document_ids, true};
  return {mul(inputs.document_ids, inputs.attention_mask), true};  // padding is document 0
}

Value positions_of(Value table, const TokenInputs& inputs, std::string_view limit_name,
                   const ForwardContext& context) {
  if (context.seq_length > table.dim(0)) {
    throw GraphError(fmt::format("sequences of {} tokens do not fit {} {}", context.seq_length,
                                 limit_name, table.dim(0)));
  }
  if (inputs.position_ids.valid()) return gather_rows(table, inputs.position_ids);
  if (inputs.document_ids.valid())
    return gather_rows(table, positions_in_documents(inputs.document_ids));
  return slice(table, {0, 0}, {context.seq_length, table.dim(1)});
}

Value embed(const EmbeddingTables& tables, const TokenInputs& inputs, const Scope& scope,
            const EncoderConfig& config, const ForwardContext& context) {
  const int64_t width = config.embedding_size;
  const Value types = inputs.token_type_ids.valid()
                          ? gather_rows(tables.token_type, inputs.token_type_ids)
                          : slice(tables.token_type, {0, 0}, {1, width});
  const Value positions = positions_of(tables.position, inputs, "max_position_embeddings", context);
  const Value sum = add(add(gather_rows(tables.word, inputs.input_ids), types), positions);
  const Value x = reshape(sum, {context.batch_size * context.seq_length, width});
  const Value y = layer_norm(x, tables.norm.gamma, tables.norm.beta, config.layer_norm_eps);
  return dropout(y, context.key, context.rate(config.hidden_dropout_prob), scope.site("dropout"));
}

Value encode(const Scope& scope, Value x, const Visibility& visibility, const EncoderConfig& config,
             const ForwardContext& context) {
  if (config.embedding_size != config.hidden_size) {
    const LinearParameters project =
        linear_parameters(scope / "embeddings_project", config.embedding_size, config.hidden_size,
                          Initializer::glorot_uniform());
    x = linear(x, project.weight, project.bias);
  }
  for (int64_t i = 0; i < config.num_hidden_layers; ++i) {
    x = encoder_layer(scope / "encoder" / "layer" / i, x, visibility, config, context);
  }
  return x;
}

Value first_tokens(Value hidden, const ForwardContext& context) {
  const int64_t b = context.batch_size, h = hidden.dim(1);
  const Value rows = reshape(hidden, {b, context.seq_length, h});
  return reshape(slice(rows, {0, 0, 0}, {b, 1, h}), {b, h});
}

Value flat_positions(Value positions, const ForwardContext& context) {
  const Value row = iota(positions.graph(), DType::kI32, positions.shape(), 0);
  const Value start = mul(row, constant_like(row, static_cast<double>(context.seq_length)));
  return reshape(add(start, positions), {positions.type().size()});
}

}  // namespace headwater
