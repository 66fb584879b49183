#include "models/electra_networks.h"

namespace headwater {
namespace {

Initializer normal(const ElectraConfig& config) {
  return Initializer::truncated_normal(config.initializer_range);
}

// Of fresh heads of downstream tasks.
Initializer head_weights(const ElectraConfig& config) {
  return Initializer::normal(config.initializer_range);
}

struct Body {
  Value word_table, attention_mask, hidden;
};

Body build_body(const Scope& root, const ElectraConfig& config, const TokenInputs& inputs,
                const ForwardContext& context) {
  const Scope electra = root / "electra";
  const EncoderConfig sizes = encoder_config(config);
  const EmbeddingTables tables = embedding_tables(electra / "embeddings", sizes);
  const Value x = embed(tables, inputs, electra / "embeddings", sizes, context);
  return {tables.word, attention_mask_of(inputs, context),
          encode(electra, x, visibility_of(inputs, context), sizes, context)};
}

}  // namespace

EncoderConfig encoder_config(const ElectraConfig& c) {
  return {.vocab_size = c.vocab_size,
          .embedding_size = c.embedding_size,
          .hidden_size = c.hidden_size,
          .num_hidden_layers = c.num_hidden_layers,
          .num_attention_heads = c.num_attention_heads,
          .intermediate_size = c.intermediate_size,
          .max_position_embeddings = c.max_position_embeddings,
          .type_vocab_size = c.type_vocab_size,
          .hidden_dropout_prob = c.hidden_dropout_prob,
          .attention_probs_dropout_prob = c.attention_probs_dropout_prob,
          .layer_norm_eps = c.layer_norm_eps,
          .activation = GeluForm::kErf,
          .tables = normal(c),
          .weights = normal(c)};
}

MaskedLmHead electra_masked_lm_head(const Scope& network, Value word_table,
                                    const ElectraConfig& config) {
  const Scope head = network / "generator_predictions";
  return {
      .dense = linear_parameters(head / "dense", config.hidden_size, config.embedding_size,
                                 normal(config)),
      .norm = layer_norm_parameters(head / "LayerNorm", config.embedding_size),
      .table = word_table,
      .bias =
          (network / "generator_lm_head").param("bias", {config.vocab_size}, Initializer::zeros()),
      .activation = GeluForm::kErf,
      .layer_norm_eps = config.layer_norm_eps};
}

Value electra_discriminator_logits(const Scope& network, Value hidden, const ElectraConfig& config,
                                   const ForwardContext& context) {
  const Scope head = network / "discriminator_predictions";
  const LinearParameters dense =
      linear_parameters(head / "dense", config.hidden_size, config.hidden_size, normal(config));
  const LinearParameters prediction = linear_parameters(
      head / "dense_prediction", config.hidden_size, 1, Initializer::glorot_uniform());
  const Value x = linear_gelu(hidden, dense.weight, dense.bias);
  return reshape(linear(x, prediction.weight, prediction.bias), context.tokens());
}

ModelOutputs build_electra_discriminator(ParameterTree& tree, const ElectraConfig& config,
                                         const ModelInputs& inputs, const ForwardContext& context) {
  const Scope root(tree);
  const Body body = build_body(root, config, inputs.tokens, context);
  ModelOutputs out;
  out.hidden = body.hidden;
  out.logits = electra_discriminator_logits(root, body.hidden, config, context);
  if (!inputs.labels.valid()) return out;
  const auto flat = [&](Value x) {
    return reshape(convert(x, DType::kF32), {context.batch_size * context.seq_length});
  };
  const Value labels = flat(inputs.labels);
  const Value counts = mul(is_labelled(labels), flat(body.attention_mask));
  out.task = predict_binary(flat(out.logits), labels, counts, inputs.label_total);
  out.loss = out.task.loss;
  return out;
}

ModelOutputs build_electra_generator(ParameterTree& tree, const ElectraConfig& config,
                                     const ModelInputs& inputs, const ForwardContext& context) {
  const Scope root(tree);
  const Body body = build_body(root, config, inputs.tokens, context);
  const MaskedLmHead head = electra_masked_lm_head(root, body.word_table, config);
  tree.alias("generator_lm_head.weight", "electra.embeddings.word_embeddings.weight");
  ModelOutputs out;
  out.hidden = body.hidden;
  out.logits = head.logits(body.hidden, context);
  if (!inputs.labels.valid()) return out;
  out.task =
      masked_lm_task(head, body.hidden, masked_lm_labels(inputs), body.attention_mask, context);
  out.loss = out.task.loss;
  return out;
}

ModelOutputs build_electra_classifier(ParameterTree& tree, const ElectraConfig& config,
                                      const ClassifierConfig& classifier, const ModelInputs& inputs,
                                      const ForwardContext& context) {
  const Scope root(tree), head = root / "classifier";
  const Body body = build_body(root, config, inputs.tokens, context);
  const auto dropped = [&](Value x, std::string_view site) {
    return dropout(x, context.key, context.rate(classifier.dropout), head.site(site));
  };
  const LinearParameters dense = linear_parameters(head / "dense", config.hidden_size,
                                                   config.hidden_size, head_weights(config));
  const Value first = dropped(first_tokens(body.hidden, context), "first_dropout");
  const auto [logits, task] = classify(
      head / "out_proj", linear_gelu(first, dense.weight, dense.bias),
      classifier_labels(inputs, body.attention_mask), classifier, head_weights(config), context);
  return {.hidden = body.hidden, .logits = logits, .task = task, .loss = task.loss};
}

ModelOutputs build_electra_token_classifier(ParameterTree& tree, const ElectraConfig& config,
                                            const ClassifierConfig& classifier,
                                            const ModelInputs& inputs,
                                            const ForwardContext& context) {
  const Scope root(tree);
  const Body body = build_body(root, config, inputs.tokens, context);
  const auto [logits, task] = classify_tokens(root / "classifier", body.hidden,
                                              classifier_labels(inputs, body.attention_mask),
                                              classifier, head_weights(config), context);
  return {.hidden = body.hidden, .logits = logits, .task = task, .loss = task.loss};
}

ModelOutputs build_electra_question_answering(ParameterTree& tree, const ElectraConfig& config,
                                              const ModelInputs& inputs,
                                              const ForwardContext& context) {
  const Scope root(tree);
  const Body body = build_body(root, config, inputs.tokens, context);
  const auto [logits, task] =
      find_span(root / "qa_outputs", body.hidden, classifier_labels(inputs, body.attention_mask),
                head_weights(config), context);
  return {.hidden = body.hidden, .logits = logits, .task = task, .loss = task.loss};
}

}  // namespace headwater
