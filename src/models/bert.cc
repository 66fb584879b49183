#include "models/bert.h"

namespace headwater {
namespace {

struct Body {
  Value word_table, attention_mask, hidden;
};

Body build_body(const Scope& scope, const BertConfig& config, const TokenInputs& inputs,
                const ForwardContext& context) {
  const EncoderConfig sizes = encoder_config(config);
  const EmbeddingTables tables = embedding_tables(scope / "embeddings", sizes);
  const Value x = embed(tables, inputs, scope / "embeddings", sizes, context);
  return {tables.word, attention_mask_of(inputs, context),
          encode(scope, x, visibility_of(inputs, context), sizes, context)};
}

// tanh of a linear layer on the first token's state.
Value build_pooler(const Scope& bert, Value hidden, const BertConfig& config,
                   const ForwardContext& context) {
  const LinearParameters dense =
      linear_parameters(bert / "pooler" / "dense", config.hidden_size, config.hidden_size,
                        encoder_config(config).weights);
  return tanh(linear(first_tokens(hidden, context), dense.weight, dense.bias));
}

MaskedLmHead masked_lm_head(const Scope& root, Value word_table, const BertConfig& config) {
  const Scope head = root / "cls" / "predictions", transform = head / "transform";
  const int64_t h = config.hidden_size;
  const EncoderConfig sizes = encoder_config(config);
  ParameterTree& tree = root.tree();
  MaskedLmHead result{.dense = linear_parameters(transform / "dense", h, h, sizes.weights),
                      .norm = layer_norm_parameters(transform / "LayerNorm", h),
                      .table = word_table,
                      .bias = head.param("bias", {config.vocab_size}, Initializer::zeros()),
                      .activation = sizes.activation,
                      .layer_norm_eps = config.layer_norm_eps};
  tree.alias("cls.predictions.decoder.bias", "cls.predictions.bias");
  if (config.tie_word_embeddings) {
    tree.alias("cls.predictions.decoder.weight", "bert.embeddings.word_embeddings.weight");
  } else {
    result.table = (head / "decoder").param("weight", {config.vocab_size, h}, sizes.weights);
  }
  return result;
}

void add_masked_lm(const Scope& root, const Body& body, const BertConfig& config,
                   const ModelInputs& inputs, const ForwardContext& context, ModelOutputs& out) {
  const MaskedLmHead head = masked_lm_head(root, body.word_table, config);
  out.logits = head.logits(body.hidden, context);
  if (!inputs.labels.valid()) return;
  out.task =
      masked_lm_task(head, body.hidden, masked_lm_labels(inputs), body.attention_mask, context);
  out.loss = out.task.loss;
}

void add_next_sentence(const Scope& root, const BertConfig& config, const ModelInputs& inputs,
                       const ForwardContext& context, ModelOutputs& out) {
  const LinearParameters p = linear_parameters(
      root / "cls" / "seq_relationship", config.hidden_size, 2, encoder_config(config).weights);
  out.next_sentence_logits = linear(out.pooled, p.weight, p.bias);
  const Value labels = inputs.next_sentence_label;
  if (!labels.valid()) return;
  out.next_sentence =
      predict_classes(out.pooled, p.weight, p.bias,
                      {labels, is_labelled(labels), inputs.next_sentence_total}, context);
  out.loss = out.loss.valid() ? add(out.loss, out.next_sentence.loss) : out.next_sentence.loss;
}

}  // namespace

EncoderConfig encoder_config(const BertConfig& c) {
  return {.vocab_size = c.vocab_size,
          .embedding_size = c.hidden_size,
          .hidden_size = c.hidden_size,
          .num_hidden_layers = c.num_hidden_layers,
          .num_attention_heads = c.num_attention_heads,
          .intermediate_size = c.intermediate_size,
          .max_position_embeddings = c.max_position_embeddings,
          .type_vocab_size = c.type_vocab_size,
          .hidden_dropout_prob = c.hidden_dropout_prob,
          .attention_probs_dropout_prob = c.attention_probs_dropout_prob,
          .layer_norm_eps = c.layer_norm_eps,
          .activation = gelu_form_of(c.hidden_act),
          .tables = Initializer::normal(c.initializer_range, c.pad_token_id),
          .weights = Initializer::normal(c.initializer_range)};
}

ModelOutputs build_bert_model(ParameterTree& tree, const BertConfig& config,
                              const ModelInputs& inputs, const ForwardContext& context) {
  const Scope bert = Scope(tree) / "bert";
  ModelOutputs out;
  out.hidden = build_body(bert, config, inputs.tokens, context).hidden;
  out.pooled = build_pooler(bert, out.hidden, config, context);
  return out;
}

ModelOutputs build_bert_masked_lm(ParameterTree& tree, const BertConfig& config,
                                  const ModelInputs& inputs, const ForwardContext& context) {
  const Scope root(tree);
  const Body body = build_body(root / "bert", config, inputs.tokens, context);
  ModelOutputs out;
  out.hidden = body.hidden;
  add_masked_lm(root, body, config, inputs, context, out);
  return out;
}

ModelOutputs build_bert_pretraining(ParameterTree& tree, const BertConfig& config,
                                    const ModelInputs& inputs, const ForwardContext& context) {
  const Scope root(tree), bert = root / "bert";
  const Body body = build_body(bert, config, inputs.tokens, context);
  ModelOutputs out;
  out.hidden = body.hidden;
  out.pooled = build_pooler(bert, body.hidden, config, context);
  add_masked_lm(root, body, config, inputs, context, out);
  add_next_sentence(root, config, inputs, context, out);
  return out;
}

ModelOutputs build_bert_classifier(ParameterTree& tree, const BertConfig& config,
                                   const ClassifierConfig& classifier, const ModelInputs& inputs,
                                   const ForwardContext& context) {
  const Scope root(tree);
  ModelOutputs out = build_bert_model(tree, config, inputs, context);
  const auto [logits, task] =
      classify(root / "classifier", out.pooled,
               classifier_labels(inputs, attention_mask_of(inputs.tokens, context)), classifier,
               encoder_config(config).weights, context);
  out.logits = logits;
  out.task = task;
  out.loss = task.loss;
  return out;
}

ModelOutputs build_bert_token_classifier(ParameterTree& tree, const BertConfig& config,
                                         const ClassifierConfig& classifier,
                                         const ModelInputs& inputs, const ForwardContext& context) {
  const Scope root(tree);
  const Body body = build_body(root / "bert", config, inputs.tokens, context);
  const auto [logits, task] = classify_tokens(root / "classifier", body.hidden,
                                              classifier_labels(inputs, body.attention_mask),
                                              classifier, encoder_config(config).weights, context);
  return {.hidden = body.hidden, .logits = logits, .task = task, .loss = task.loss};
}

ModelOutputs build_bert_question_answering(ParameterTree& tree, const BertConfig& config,
                                           const ModelInputs& inputs,
                                           const ForwardContext& context) {
  const Scope root(tree);
  const Body body = build_body(root / "bert", config, inputs.tokens, context);
  const auto [logits, task] =
      find_span(root / "qa_outputs", body.hidden, classifier_labels(inputs, body.attention_mask),
                encoder_config(config).weights, context);
  return {.hidden = body.hidden, .logits = logits, .task = task, .loss = task.loss};
}

}  // namespace headwater
