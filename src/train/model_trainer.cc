#include "train/model_trainer.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace headwater {

template class TaskTrainer<ModelTask>;

namespace {

int64_t count_of(const auto& values) { return static_cast<int64_t>(values.size()); }

// Values outside [low, high) would be read as others.
Result<> check_range(const std::vector<int32_t>& values, std::string_view name, int64_t low,
                     int64_t high) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] >= low && values[i] < high) continue;
    return fail(Code::kOutOfRange, "{} has {} at {}: values are under {}{}", name, values[i], i,
                high, low == 0 ? " and not negative" : "");
  }
  return {};
}

// A feature that may be missing: empty, or of `size` values.
Result<> check_size(int64_t found, std::string_view name, int64_t size, bool may_be_empty) {
  if (found == size || (may_be_empty && found == 0)) return {};
  return fail(Code::kInvalidArgument, "{} has {} values, not {}", name, found, size);
}

// Documents of a row rise, each in one stretch; 0 may stand between and behind them.
Result<> check_documents(const std::vector<int32_t>& documents, int64_t seq_length) {
  int32_t latest = 0;
  for (size_t i = 0; i < documents.size(); ++i) {
    if (i % static_cast<size_t>(seq_length) == 0) latest = 0;
    const bool goes_on = documents[i] == 0 || documents[i] > latest ||
                         (documents[i] == latest && documents[i - 1] == latest);
    if (!goes_on) {
      return fail(Code::kOutOfRange,
                  "document_ids has {} at {}: the documents of a row are numbered 1, 2, .., each "
                  "in one piece, padding is 0",
                  documents[i], i);
    }
    latest = std::max(latest, documents[i]);
  }
  return {};
}

int64_t type_vocab_size(const ModelConfig& config) {
  if (const auto* bert = std::get_if<BertConfig>(&config)) return bert->type_vocab_size;
  if (const auto* electra = std::get_if<ElectraConfig>(&config)) return electra->type_vocab_size;
  return std::get<Gpt2Config>(config).vocab_size;  // token types are words there
}

Result<ModelMetrics::Sums> fetch_sums(const Program& program, const std::string& name,
                                      bool has_correct) {
  ModelMetrics::Sums sums;
  HW_ASSIGN_OR_RETURN(sums.loss, fetch_scalar(program, name + "_loss"));
  HW_ASSIGN_OR_RETURN(sums.count, fetch_scalar(program, name + "_count"));
  if (has_correct) {
    HW_ASSIGN_OR_RETURN(sums.correct, fetch_scalar(program, name + "_correct"));
  }
  return sums;
}

}  // namespace

bool ModelStepResult::finite() const { return std::isfinite(loss) && std::isfinite(grad_norm); }

int64_t ModelBatch::tokens() const {
  if (!attention_mask.empty()) return static_cast<int64_t>(std::ranges::count(attention_mask, 1));
  return count_of(input_ids) - static_cast<int64_t>(std::ranges::count(document_ids, 0));
}

void ModelMetrics::add(const Sums& sums, WeightedMean& loss, WeightedMean& accuracy) {
  if (sums.count <= 0) return;
  loss.add(sums.loss / sums.count, sums.count);
  if (sums.correct) accuracy.add(*sums.correct / sums.count, sums.count);
}

std::array<WeightedMean*, 4> ModelMetrics::means() {
  return {&label_loss_, &label_accuracy_, &sentence_loss_, &sentence_accuracy_};
}

void ModelMetrics::add(const ModelMetrics& other) {
  label_loss_.add(other.label_loss_);
  label_accuracy_.add(other.label_accuracy_);
  sentence_loss_.add(other.sentence_loss_);
  sentence_accuracy_.add(other.sentence_accuracy_);
}

Json ModelMetrics::sums() const {
  Json sums = Json::array();
  ModelMetrics copy = *this;
  for (const WeightedMean* mean : copy.means()) {
    sums.push_back(mean->sum());
    sums.push_back(mean->weight());
  }
  return sums;
}

Result<> ModelMetrics::set_sums(const Json& sums) {
  const std::array<WeightedMean*, 4> own = means();
  const bool valid = sums.is_array() && sums.size() == 2 * own.size() &&
                     std::ranges::all_of(sums, [](const Json& sum) { return sum.is_number(); });
  if (!valid) return fail(Code::kInvalidArgument, "the sums of an epoch are no list of numbers");
  for (size_t i = 0; i < own.size(); ++i)
    *own[i] = {sums[2 * i].get<double>(), sums[2 * i + 1].get<double>()};
  return {};
}

MetricValues ModelMetrics::values() const {
  MetricValues values;
  if (label_loss_.weight() > 0) {
    values.emplace_back("loss", label_loss_.value());
    if (!asks_classes(objective_) && objective_ != Objective::kRtd)
      values.emplace_back("perplexity", std::exp(label_loss_.value()));
  }
  if (label_accuracy_.weight() > 0) values.emplace_back("accuracy", label_accuracy_.value());
  if (sentence_loss_.weight() > 0) {
    const std::string task = objective_ == Objective::kMlmSop ? "sentence_order" : "next_sentence";
    values.emplace_back(task + "_loss", sentence_loss_.value());
    values.emplace_back(task + "_accuracy", sentence_accuracy_.value());
  }
  return values;
}

Result<ParameterTypes> ModelTask::parameters() const {
  const ModelStepOptions& model = options_.model;
  HW_RETURN_IF_ERROR(check_objective(model.model, model.objective));
  if (model.label_smoothing < 0 || model.label_smoothing >= 1) {
    return fail(Code::kInvalidArgument, "label_smoothing is {}: it must be at least 0 and under 1",
                model.label_smoothing);
  }
  return parameter_types(model.model);
}

size_t ModelTask::max_programs() const {
  return static_cast<size_t>(std::max<int64_t>(1, options_.max_programs));
}

bool ModelTask::has_label_values() const {
  return options_.model.objective == Objective::kClassification &&
         options_.model.model.classifier.problem != ClassifierConfig::Problem::kSingleLabel;
}

ModelBatchShape ModelTask::shape(const ModelBatch& batch) const {
  return {.batch_size = batch.batch_size,
          .seq_length = batch.seq_length,
          .label_positions =
              batch.batch_size > 0 ? count_of(batch.label_positions) / batch.batch_size : 0,
          .attention_mask = !batch.attention_mask.empty(),
          .token_type_ids = !batch.token_type_ids.empty(),
          .position_ids = !batch.position_ids.empty(),
          .document_ids = !batch.document_ids.empty(),
          .labels = has_label_values() || !batch.labels.empty(),
          .label_weights = !batch.label_weights.empty()};
}

Result<> ModelTask::check_sizes(const ModelBatch& batch) const {
  const int64_t b = batch.batch_size, t = batch.seq_length;
  const int64_t limit = options_.model.model.max_positions();
  if (b < 1 || t < 1 || t > limit || b > kMaxElements / t) {
    return fail(Code::kInvalidArgument,
                "a batch of {} rows of {} tokens does not fit a model of {} positions", b, t,
                limit);
  }
  HW_RETURN_IF_ERROR(check_size(count_of(batch.input_ids), "input_ids", b * t, false));
  for (const auto& [name, values] : {std::pair("attention_mask", &batch.attention_mask),
                                     std::pair("token_type_ids", &batch.token_type_ids),
                                     std::pair("position_ids", &batch.position_ids),
                                     std::pair("document_ids", &batch.document_ids)}) {
    HW_RETURN_IF_ERROR(check_size(count_of(*values), name, b * t, true));
  }
  const bool sentences = predicts_sentences(options_.model.objective);
  HW_RETURN_IF_ERROR(check_size(count_of(batch.next_sentence_labels), "next_sentence_labels",
                                sentences ? b : 0, false));
  const Objective objective = options_.model.objective;
  if (!batch.document_ids.empty() && (sentences || objective == Objective::kClassification ||
                                      objective == Objective::kQuestionAnswering)) {
    return fail(Code::kInvalidArgument, "{} predicts one thing per row: it may not hold documents",
                objective_name(objective));
  }
  const bool positions = !batch.label_positions.empty();
  if (positions &&
      (objective == Objective::kClm || objective == Objective::kRtd || asks_classes(objective))) {
    return fail(Code::kInvalidArgument, "label_positions are of masked language models");
  }
  if (count_of(batch.label_positions) % b != 0)
    return fail(Code::kInvalidArgument, "label_positions differ in number from row to row");
  const int64_t weights = asks_classes(objective) && objective != Objective::kQuestionAnswering
                              ? count_of(batch.labels) + count_of(batch.label_values)
                              : 0;
  HW_RETURN_IF_ERROR(check_size(count_of(batch.label_weights), "label_weights", weights, true));
  if (objective == Objective::kQuestionAnswering)
    return check_size(count_of(batch.labels), "labels", 2 * b, false);
  if (objective != Objective::kClassification) {
    return check_size(count_of(batch.labels), "labels",
                      positions ? count_of(batch.label_positions) : b * t,
                      objective == Objective::kClm);
  }
  const int64_t classes = options_.model.model.classifier.num_labels;
  if (has_label_values())
    return check_size(count_of(batch.label_values), "label_values", b * classes, false);
  return check_size(count_of(batch.labels), "labels", b, false);
}

Result<> ModelTask::check_labels(const ModelBatch& batch) const {
  const ModelStepOptions& model = options_.model;
  int64_t classes = model.model.vocab_size();
  if (model.objective == Objective::kRtd) classes = 2;
  if (asks_classes(model.objective)) classes = model.model.classifier.num_labels;
  if (model.objective == Objective::kQuestionAnswering) classes = batch.seq_length;
  HW_RETURN_IF_ERROR(check_range(batch.labels, "labels", INT32_MIN, classes));
  HW_RETURN_IF_ERROR(check_range(batch.next_sentence_labels, "next_sentence_labels", INT32_MIN, 2));
  for (const float value : batch.label_values) {
    if (!std::isfinite(value)) return fail(Code::kOutOfRange, "label_values has {}", value);
  }
  for (const float weight : batch.label_weights) {
    if (!std::isfinite(weight) || weight < 0)
      return fail(Code::kOutOfRange, "label_weights has {}", weight);
  }
  return {};
}

Result<> ModelTask::check(const ModelBatch& batch) const {
  HW_RETURN_IF_ERROR(check_sizes(batch));
  const Model& model = options_.model.model;
  HW_RETURN_IF_ERROR(check_range(batch.input_ids, "input_ids", 0, model.vocab_size()));
  HW_RETURN_IF_ERROR(check_range(batch.attention_mask, "attention_mask", 0, 2));
  HW_RETURN_IF_ERROR(
      check_range(batch.token_type_ids, "token_type_ids", 0, type_vocab_size(model.config)));
  HW_RETURN_IF_ERROR(check_range(batch.position_ids, "position_ids", 0, model.max_positions()));
  HW_RETURN_IF_ERROR(check_range(batch.label_positions, "label_positions", 0, batch.seq_length));
  HW_RETURN_IF_ERROR(check_documents(batch.document_ids, batch.seq_length));
  return check_labels(batch);
}

StepParts ModelTask::train_step(Phase, const ModelBatchShape& shape, bool given_totals) const {
  return model_step(options_.model, shape, given_totals);
}

StepParts ModelTask::evaluation(const ModelBatchShape& shape, bool given_totals) const {
  return model_step(options_.model, shape, given_totals);
}

Result<> ModelTask::feed(Program& program, const ModelBatch& batch) const {
  const int64_t b = batch.batch_size;
  const auto feed_ints = [&](std::string_view name, const std::vector<int32_t>& values,
                             const Shape& shape) -> Result<> {
    if (values.empty()) return {};
    return program.feed(name, Tensor::i32(shape, values));
  };
  const Shape tokens{b, batch.seq_length};
  HW_RETURN_IF_ERROR(feed_ints("input_ids", batch.input_ids, tokens));
  HW_RETURN_IF_ERROR(feed_ints("attention_mask", batch.attention_mask, tokens));
  HW_RETURN_IF_ERROR(feed_ints("token_type_ids", batch.token_type_ids, tokens));
  HW_RETURN_IF_ERROR(feed_ints("position_ids", batch.position_ids, tokens));
  HW_RETURN_IF_ERROR(feed_ints("document_ids", batch.document_ids, tokens));
  HW_RETURN_IF_ERROR(feed_ints("next_sentence_label", batch.next_sentence_labels, {b}));
  const Shape values{b, options_.model.model.classifier.num_labels};
  if (!batch.label_weights.empty()) {
    const bool per_token = options_.model.objective == Objective::kTokenClassification;
    const Shape weights = has_label_values() ? values : per_token ? tokens : Shape{b};
    HW_RETURN_IF_ERROR(program.feed("label_weights", Tensor::f32(weights, batch.label_weights)));
  }
  if (has_label_values()) return program.feed("labels", Tensor::f32(values, batch.label_values));
  if (options_.model.objective == Objective::kClassification)
    return feed_ints("labels", batch.labels, {b});
  HW_RETURN_IF_ERROR(feed_ints("label_positions", batch.label_positions,
                               {b, count_of(batch.label_positions) / b}));
  return feed_ints("labels", batch.labels, {b, count_of(batch.labels) / b});
}

// The same rows that the graph counts.
double ModelTask::label_count(const ModelBatch& batch) const {
  const int64_t b = batch.batch_size, t = batch.seq_length;
  const auto document = [&](int64_t i) {
    return batch.document_ids.empty() ? 1 : batch.document_ids[static_cast<size_t>(i)];
  };
  const auto real = [&](int64_t i) {
    return batch.attention_mask.empty() ? document(i) != 0
                                        : batch.attention_mask[static_cast<size_t>(i)] == 1;
  };
  const auto labelled = [&](int64_t i) {
    return batch.labels.empty() || batch.labels[static_cast<size_t>(i)] >= 0;
  };
  const auto weight = [&](int64_t i) {
    return batch.label_weights.empty() ? 1.0 : batch.label_weights[static_cast<size_t>(i)];
  };
  const Objective objective = options_.model.objective;
  const bool per_token = objective != Objective::kClassification &&
                         objective != Objective::kQuestionAnswering &&
                         batch.label_positions.empty();
  double count = 0;
  if (has_label_values()) {
    const int64_t width = options_.model.model.classifier.num_labels;
    for (int64_t row = 0; row < b; ++row) {
      bool has_token = false;
      for (int64_t i = row * t; i < (row + 1) * t; ++i) has_token = has_token || real(i);
      for (int64_t i = row * width; has_token && i < (row + 1) * width; ++i) count += weight(i);
    }
  } else if (objective == Objective::kClm) {
    for (int64_t i = 0; i < b * t; ++i) {
      const bool follows = i % t > 0 && document(i - 1) == document(i);
      if (follows && real(i - 1) && real(i) && labelled(i)) ++count;
    }
  } else {
    for (int64_t i = 0; i < count_of(batch.labels); ++i) {
      if (labelled(i) && (!per_token || real(i))) count += weight(i);
    }
  }
  return count;
}

Scalars ModelTask::totals(std::span<const ModelBatch> batches) const {
  double labels = 0;
  int64_t sentences = 0;
  for (const ModelBatch& batch : batches) {
    labels += label_count(batch);
    for (const int32_t label : batch.next_sentence_labels) sentences += label >= 0 ? 1 : 0;
  }
  Scalars totals = {{"label_total", labels}};
  if (predicts_sentences(options_.model.objective))
    totals.emplace_back("next_sentence_total", static_cast<double>(sentences));
  return totals;
}

Result<ModelStepResult> ModelTask::collect(const Program& program, Phase, const ModelBatch&,
                                           ModelMetrics& metrics) const {
  const bool regression =
      options_.model.objective == Objective::kClassification &&
      options_.model.model.classifier.problem == ClassifierConfig::Problem::kRegression;
  HW_ASSIGN_OR_RETURN(const auto labels, fetch_sums(program, "label", !regression));
  metrics.add_labels(labels);
  if (metrics.keeps_logits()) {
    HW_ASSIGN_OR_RETURN(const Tensor logits, program.fetch("logits"));
    const std::span<const float> values = logits.as<float>();
    metrics.logits().insert(metrics.logits().end(), values.begin(), values.end());
  }
  if (predicts_sentences(options_.model.objective)) {
    HW_ASSIGN_OR_RETURN(const auto sentences, fetch_sums(program, "sentence", true));
    metrics.add_sentences(sentences);
  }
  ModelStepResult result;
  HW_ASSIGN_OR_RETURN(result.loss, fetch_scalar(program, "loss"));
  return result;
}

}  // namespace headwater
