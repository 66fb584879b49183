#include "models/gpt2.h"

#include <cmath>
#include <functional>

namespace headwater {
namespace {

// Hugging Face's Conv1D: weight [in, out].
LinearParameters conv1d(const Scope& scope, int64_t in, int64_t out, Initializer init) {
  return {scope.param("weight", {in, out}, init), scope.param("bias", {out}, Initializer::zeros())};
}

Initializer weights(const Gpt2Config& config) {
  return Initializer::normal(config.initializer_range);
}

// Of the layers that end a residual branch: the states' variance does not grow with the depth
// (Radford et al. 2019, section 2.3).
Initializer residual_weights(const Gpt2Config& config) {
  const double branches = 2 * static_cast<double>(config.n_layer);
  return Initializer::normal(config.initializer_range / std::sqrt(branches));
}

Value normalised(const Scope& scope, Value x, const Gpt2Config& config) {
  const LayerNormParameters p = layer_norm_parameters(scope, config.n_embd);
  return layer_norm(x, p.gamma, p.beta, config.layer_norm_epsilon);
}

// x + dropout(h projected to the width of x).
Value add_branch(const Scope& scope, Value x, Value h, const Gpt2Config& config,
                 const ForwardContext& context) {
  const LinearParameters p =
      conv1d(scope / "c_proj", h.dim(1), config.n_embd, residual_weights(config));
  const Value y = linear(h, p.weight, p.bias, WeightLayout::kInOut);
  return add(x, dropout(y, context.key, context.rate(config.resid_pdrop), scope.site("dropout")));
}

// How tokens see each other: queries, keys and values [B, T, H] of the layer at a scope to what the
// queries see, [B, T, H].
using Attend = std::function<Value(const Scope&, Value q, Value k, Value v)>;

Attend causal_attention(const Visibility& visibility, const Gpt2Config& config,
                        const ForwardContext& context) {
  return [=](const Scope& scope, Value q, Value k, Value v) {
    return attention(q, k, v, visibility.mask, context.key,
                     {.num_heads = config.n_head,
                      .dropout_rate = context.rate(config.attn_pdrop),
                      .site = scope.site("attn_dropout"),
                      .causal = true,
                      .by_document = visibility.by_document});
  };
}

// Keys and values go into the cache, at `position`; queries see what it holds up to themselves.
Attend attention_to_cache(const DecoderInputs& inputs, const Gpt2Config& config) {
  return [=](const Scope& scope, Value q, Value k, Value v) {
    Graph& graph = q.graph();
    const Type type{DType::kF32, {q.dim(0), inputs.capacity, config.n_embd}};
    const Value zero = constant(graph, 0, DType::kI32);
    const auto kept = [&](std::string_view part, Value rows) {
      const Value cache = graph.input(
          fmt::format("cache[{}x{}].{}.{}", q.dim(0), inputs.capacity, scope.path(), part), type,
          /*is_state=*/true);
      const Value grown = dynamic_update_slice(cache, rows, {zero, inputs.position, zero});
      graph.update(cache, grown);
      return grown;
    };
    const Value keys = kept("key", k), values = kept("value", v);
    return cached_attention(q, keys, values, inputs.position, config.n_head);
  };
}

Value self_attention(const Scope& scope, Value x, const Attend& attend, const Gpt2Config& config,
                     const ForwardContext& context) {
  const int64_t width = config.n_embd, tokens = x.dim(0);
  const LinearParameters p = conv1d(scope / "c_attn", width, 3 * width, weights(config));
  const Value qkv = linear(x, p.weight, p.bias, WeightLayout::kInOut);
  const auto part = [&](int64_t i) {
    return reshape(slice(qkv, {0, i * width}, {tokens, (i + 1) * width}),
                   {context.batch_size, context.seq_length, width});
  };
  return reshape(attend(scope, part(0), part(1), part(2)), x.shape());
}

Value block(const Scope& scope, Value x, const Attend& attend, const Gpt2Config& config,
            const ForwardContext& context) {
  const Scope attn = scope / "attn", mlp = scope / "mlp";
  const Value mixed =
      self_attention(attn, normalised(scope / "ln_1", x, config), attend, config, context);
  const Value y = add_branch(attn, x, mixed, config, context);
  const Value h = normalised(scope / "ln_2", y, config);
  const LinearParameters fc =
      conv1d(mlp / "c_fc", config.n_embd, config.inner_size(), weights(config));
  const Value inner = linear_gelu(h, fc.weight, fc.bias, gelu_form_of(config.activation_function),
                                  WeightLayout::kInOut);
  return add_branch(mlp, y, inner, config, context);
}

Value embed_tokens(const Scope& scope, Value words, const TokenInputs& tokens,
                   const Gpt2Config& config, const ForwardContext& context) {
  const Value table =
      (scope / "wpe").param("weight", {config.n_positions, config.n_embd}, weights(config));
  Value x = add(gather_rows(words, tokens.input_ids),
                positions_of(table, tokens, "n_positions", context));
  if (tokens.token_type_ids.valid()) x = add(x, gather_rows(words, tokens.token_type_ids));
  x = reshape(x, {context.batch_size * context.seq_length, config.n_embd});
  return dropout(x, context.key, context.rate(config.embd_pdrop), scope.site("dropout"));
}

// The rows moved one place to the left; the last one of each sequence is 0.
Value next_in_row(Value x) {
  const int64_t b = x.dim(0), t = x.dim(1);
  return pad(slice(x, {0, 1}, {b, t}), {0, 0}, {0, 1});
}

// 1 where the next token is of the same document.
Value goes_on(Value document_ids) {
  return convert(compare(document_ids, next_in_row(document_ids), Direction::kEqual), DType::kF32);
}

TaskOutputs next_token_task(Value hidden, Value table, Value attention_mask,
                            const ModelInputs& inputs, const ForwardContext& context) {
  const Shape rows{hidden.dim(0)};
  const Value real = convert(attention_mask, DType::kF32);
  const Value askable = mul(is_labelled(inputs.labels), real);
  Value asked = mul(next_in_row(askable), real);
  const Value documents = inputs.tokens.document_ids;
  if (documents.valid()) asked = mul(asked, goes_on(documents));
  return predict_classes(hidden, table, {},
                         {reshape(next_in_row(inputs.labels), rows), reshape(asked, rows),
                          inputs.label_total, inputs.label_smoothing},
                         context);
}

Value word_table(const Scope& transformer, const Gpt2Config& config) {
  return (transformer / "wte").param("weight", {config.vocab_size, config.n_embd}, weights(config));
}

// Embeddings and all blocks: [B T, H].
Value run_blocks(const Scope& transformer, Value words, const TokenInputs& tokens,
                 const Attend& attend, const Gpt2Config& config, const ForwardContext& context) {
  Value x = embed_tokens(transformer, words, tokens, config, context);
  for (int64_t i = 0; i < config.n_layer; ++i)
    x = block(transformer / "h" / i, x, attend, config, context);
  return x;
}

// The table of the head [V, H]: the words', or its own.
Value head_table(const Scope& root, Value words, const Gpt2Config& config) {
  if (!config.tie_word_embeddings)
    return (root / "lm_head").param("weight", words.shape(), weights(config));
  root.tree().alias("lm_head.weight", "transformer.wte.weight");
  return words;
}

// Row `last` of each sequence: [B T, H] -> [B, H].
Value rows_at(Value hidden, Value last, const ForwardContext& context) {
  const Value row = iota(hidden.graph(), DType::kI32, {context.batch_size}, 0);
  const Value start = mul(row, constant_like(row, static_cast<double>(context.seq_length)));
  return gather_rows(hidden, add(start, broadcast_to(last, row.shape())));
}

}  // namespace

ModelOutputs build_gpt2_lm(ParameterTree& tree, const Gpt2Config& config, const ModelInputs& inputs,
                           const ForwardContext& context) {
  const Scope root(tree), transformer = root / "transformer";
  const Value words = word_table(transformer, config);
  const Value mask = attention_mask_of(inputs.tokens, context);
  const Value x = run_blocks(
      transformer, words, inputs.tokens,
      causal_attention(visibility_of(inputs.tokens, context), config, context), config, context);
  ModelOutputs out;
  out.hidden = normalised(transformer / "ln_f", x, config);
  const Value table = head_table(root, words, config);
  out.logits = reshape(dot(out.hidden, table, false, true),
                       {context.batch_size, context.seq_length, config.vocab_size});
  if (!inputs.labels.valid()) return out;
  out.task = next_token_task(out.hidden, table, mask, inputs, context);
  out.loss = out.task.loss;
  return out;
}

Value build_gpt2_decoder(ParameterTree& tree, const Gpt2Config& config, const DecoderInputs& inputs,
                         const ForwardContext& context) {
  const Scope root(tree), transformer = root / "transformer";
  const Value words = word_table(transformer, config);
  const Shape shape = context.tokens();
  TokenInputs tokens{.input_ids = inputs.input_ids};
  tokens.position_ids =
      add(iota(tree.graph(), DType::kI32, shape, 1), broadcast_to(inputs.position, shape));
  const Value x =
      run_blocks(transformer, words, tokens, attention_to_cache(inputs, config), config, context);
  const Value last = rows_at(x, inputs.last, context);
  return dot(normalised(transformer / "ln_f", last, config), head_table(root, words, config), false,
             true);
}

}  // namespace headwater
