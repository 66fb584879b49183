#include "models/heads.h"

namespace headwater {
namespace {

// Loss of logits f32 [B, L] against labels of the same shape; every element is a row, and counts
// where its sequence has a token.
TaskOutputs elementwise_task(ClassifierConfig::Problem problem, Value logits,
                             const ClassifierLabels& asked) {
  const Shape rows{logits.type().size()};
  const Value x = reshape(logits, rows), y = reshape(asked.labels, rows);
  const Value has_token = reduce_max(convert(asked.attention_mask, DType::kF32), {1});  // [B]
  Value weight = reshape(broadcast(has_token, logits.shape(), {0}), rows);
  if (asked.label_weights.valid()) weight = mul(weight, reshape(asked.label_weights, rows));
  if (problem == ClassifierConfig::Problem::kMultiLabel)
    return predict_binary(x, y, weight, asked.label_total);
  const Value difference = sub(x, y);
  TaskOutputs task;
  task.row_loss = mul(difference, difference);
  task.row_weight = weight;
  task.loss = mean_where(task.row_loss, weight, asked.label_total);
  return task;
}

// Cross-entropy against targets that give `smoothing` of their weight to all classes alike: what
// the smoothed loss has more is smoothing * (logit of the target - mean logit).
Value smoothed(Value row_loss, Value h, Value weight, Value bias, Value targets, double smoothing) {
  const int64_t rows = h.dim(0), width = h.dim(1), classes = weight.dim(0);
  const Value per_class = constant(h.graph(), 1 / static_cast<double>(classes));
  const Value mean_weight = mul(reduce_sum(weight, {0}), per_class);
  const Value mean_logit =
      add(reshape(dot(h, reshape(mean_weight, {width, 1})), {rows}), mul(sum_all(bias), per_class));
  const Value target_bias = gather_rows(reshape(bias, {classes, 1}), targets);
  const Value target_logit =
      add(reduce_sum(mul(h, gather_rows(weight, targets)), {1}), reshape(target_bias, {rows}));
  const Value more = sub(target_logit, mean_logit);
  return add(row_loss, mul(more, constant_like(more, smoothing)));
}

// What each label of single-label classes counts: nothing under 0.
Value counted(const ClassifierLabels& asked) {
  const Value labelled = is_labelled(asked.labels);
  return asked.label_weights.valid() ? mul(labelled, asked.label_weights) : labelled;
}

// Taken from the scores of padding: no probability is left of them.
constexpr double kFarAway = 1e4;

// The rows of a batch that are asked about, and what is asked.
struct Asked {
  Value rows, labels, weight;
};

Asked asked_rows(Value hidden, const MaskedLmLabels& asked, Value attention_mask,
                 const ForwardContext& context) {
  const Value labels = reshape(asked.labels, {asked.labels.type().size()});
  const Value labelled = is_labelled(labels);
  if (asked.positions.valid()) {
    return {gather_rows(hidden, flat_positions(asked.positions, context)), labels, labelled};
  }
  const Value real = convert(reshape(attention_mask, labels.shape()), DType::kF32);
  return {hidden, labels, mul(labelled, real)};
}

}  // namespace

Value mean_where(Value values, Value weights, Value given_total) {
  const Value total = given_total.valid() ? given_total : sum_all(weights);
  return div(sum_all(mul(values, weights)), maximum(total, constant_like(total, 1)));
}

Value is_labelled(Value labels) {
  return convert(compare(labels, constant_like(labels, 0), Direction::kGreaterEqual), DType::kF32);
}

TaskOutputs predict_classes(Value h, Value weight, Value bias, const ClassLabels& asked,
                            const ForwardContext& context) {
  if (!bias.valid()) bias = constant(h.graph(), 0, DType::kF32, {weight.dim(0)});
  const Value targets = maximum(asked.labels, constant_like(asked.labels, 0));
  const VocabCrossEntropy entropy =
      vocab_cross_entropy(h, weight, bias, targets, context.key, {.sample = false});
  Value trained = entropy.loss;
  if (asked.smoothing > 0) trained = smoothed(trained, h, weight, bias, targets, asked.smoothing);
  const Value right =
      convert(compare(entropy.prediction, asked.labels, Direction::kEqual), DType::kF32);
  return {.loss = mean_where(trained, asked.row_weight, asked.total),
          .accuracy = mean_where(right, asked.row_weight, asked.total),
          .row_loss = entropy.loss,
          .row_weight = asked.row_weight,
          .row_correct = right,
          .predictions = entropy.prediction};
}

TaskOutputs predict_binary(Value logits, Value labels, Value row_weight, Value given_total) {
  const Value positive =
      convert(compare(logits, constant_like(logits, 0), Direction::kGreater), DType::kF32);
  const Value right = convert(compare(positive, labels, Direction::kEqual), DType::kF32);
  const Value row_loss = sigmoid_cross_entropy(logits, labels);
  return {.loss = mean_where(row_loss, row_weight, given_total),
          .accuracy = mean_where(right, row_weight, given_total),
          .row_loss = row_loss,
          .row_weight = row_weight,
          .row_correct = right,
          .predictions = convert(positive, DType::kI32)};
}

Value MaskedLmHead::transform(Value rows) const {
  return layer_norm(linear_gelu(rows, dense.weight, dense.bias, activation), norm.gamma, norm.beta,
                    layer_norm_eps);
}

Value MaskedLmHead::logits(Value hidden, const ForwardContext& context) const {
  return reshape(linear(transform(hidden), table, bias),
                 {context.batch_size, context.seq_length, table.dim(0)});
}

TaskOutputs masked_lm_task(const MaskedLmHead& head, Value hidden, const MaskedLmLabels& asked,
                           Value attention_mask, const ForwardContext& context) {
  const auto [rows, labels, weight] = asked_rows(hidden, asked, attention_mask, context);
  return predict_classes(head.transform(rows), head.table, head.bias,
                         {labels, weight, asked.label_total, asked.smoothing}, context);
}

ClassifierOutputs classify(const Scope& scope, Value rows, const ClassifierLabels& asked,
                           const ClassifierConfig& config, Initializer init,
                           const ForwardContext& context) {
  const LinearParameters p = linear_parameters(scope, rows.dim(1), config.num_labels, init);
  const Value x = dropout(rows, context.key, context.rate(config.dropout), scope.site("dropout"));
  ClassifierOutputs out;
  out.logits = linear(x, p.weight, p.bias);
  const Value labels = asked.labels;
  if (!labels.valid()) return out;
  out.task =
      config.problem == ClassifierConfig::Problem::kSingleLabel
          ? predict_classes(x, p.weight, p.bias,
                            {labels, counted(asked), asked.label_total, asked.smoothing}, context)
          : elementwise_task(config.problem, out.logits, asked);
  return out;
}

ClassifierOutputs classify_tokens(const Scope& scope, Value rows, const ClassifierLabels& asked,
                                  const ClassifierConfig& config, Initializer init,
                                  const ForwardContext& context) {
  ClassifierLabels flat = asked;
  const auto flatten = [](Value x) { return x.valid() ? reshape(x, {x.type().size()}) : x; };
  flat.labels = flatten(asked.labels);
  flat.label_weights = flatten(asked.label_weights);
  ClassifierOutputs out = classify(scope, rows, flat, config, init, context);
  out.logits = reshape(out.logits, {context.batch_size, context.seq_length, config.num_labels});
  return out;
}

ClassifierOutputs find_span(const Scope& scope, Value rows, const ClassifierLabels& asked,
                            Initializer init, const ForwardContext& context) {
  const int64_t b = context.batch_size, t = context.seq_length;
  const LinearParameters p = linear_parameters(scope, rows.dim(1), 2, init);
  ClassifierOutputs out;
  out.logits = reshape(linear(rows, p.weight, p.bias), {b, t, 2});
  if (!asked.labels.valid()) return out;
  const Value real = convert(asked.attention_mask, DType::kF32);
  const Value away = mul(sub(real, constant_like(real, 1)), constant_like(real, kFarAway));
  const Value per_end = add(transpose(out.logits, {0, 2, 1}), broadcast(away, {b, 2, t}, {0, 2}));
  const Value scores = reshape(per_end, {2 * b, t});
  const Value highest = reshape(reduce_max(stop_gradient(scores), {1}), {2 * b, 1});
  const Value shifted = sub(scores, highest);
  const Value labels = reshape(asked.labels, {2 * b});
  const Value places = iota(labels.graph(), DType::kI32, {2 * b, t}, 1);
  const Value is_label =
      convert(compare(places, broadcast(labels, {2 * b, t}, {0}), Direction::kEqual), DType::kF32);
  const Value own = reduce_sum(mul(shifted, is_label), {1});
  const Value weight = is_labelled(labels);
  TaskOutputs& task = out.task;
  task.row_loss = sub(log(reduce_sum(exp(shifted), {1})), own);
  task.row_weight = weight;
  task.row_correct =
      convert(compare(own, constant_like(own, 0), Direction::kGreaterEqual), DType::kF32);
  task.predictions = argmax(scores, 1);
  task.loss = mean_where(task.row_loss, weight, asked.label_total);
  task.accuracy = mean_where(task.row_correct, weight, asked.label_total);
  return out;
}

}  // namespace headwater
