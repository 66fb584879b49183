#include "finetune/judge.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "finetune/entities.h"
#include "finetune/score_metrics.h"

namespace headwater {
namespace {

constexpr size_t kMostConfused = 200;  // labels of a confusion table

void softmax(std::span<const float> logits, std::vector<float>& out) {
  const float highest = std::ranges::max(logits);
  double sum = 0;
  for (const float x : logits) sum += std::exp(static_cast<double>(x - highest));
  for (const float x : logits)
    out.push_back(static_cast<float>(std::exp(static_cast<double>(x - highest)) / sum));
}

int32_t arg_max(std::span<const float> values) {
  return static_cast<int32_t>(std::ranges::max_element(values) - values.begin());
}

Prediction predict_classes_of(const Task& task, std::span<const float> logits,
                              const PredictRules& rules) {
  Prediction prediction;
  if (task.kind == TaskKind::kRegression) {
    prediction.value = logits[0];
    return prediction;
  }
  prediction.probabilities =
      probabilities_of(task.kind, logits, static_cast<int64_t>(logits.size()));
  if (task.kind == TaskKind::kSingleLabel) {
    prediction.labels = {arg_max(logits)};
    return prediction;
  }
  for (size_t k = 0; k < logits.size(); ++k) {
    if (rules.thresholds.chooses(prediction.probabilities[k], k))
      prediction.labels.push_back(static_cast<int32_t>(k));
  }
  return prediction;
}

// A word that was cut off gets the tag of what is nothing.
Prediction predict_tags(const TaskExample& example, const Feature& feature,
                        std::span<const float> logits, const PredictRules& rules) {
  const auto outside = std::ranges::find(rules.labels, "O");
  const auto none =
      static_cast<int32_t>(outside == rules.labels.end() ? 0 : outside - rules.labels.begin());
  Prediction prediction;
  prediction.labels.assign(example.words.size(), none);
  prediction.probabilities.assign(example.words.size(), 0);
  const size_t width = rules.labels.size();
  for (size_t i = 0; i < feature.words.size(); ++i) {
    if (feature.words[i] < 0) continue;
    const auto word = static_cast<size_t>(feature.words[i]);
    std::vector<float> probabilities;
    softmax(logits.subspan(i * width, width), probabilities);
    prediction.labels[word] = arg_max(probabilities);
    prediction.probabilities[word] = std::ranges::max(probabilities);
  }
  return prediction;
}

struct Span {
  double score = 0;
  int32_t begin = 0, end = 0;  // bytes of the context
  bool found = false;
};

Span best_span(const Feature& feature, std::span<const float> logits, int64_t longest) {
  Span best;
  const auto n = static_cast<int64_t>(feature.context.size());
  for (int64_t i = 0; i < n; ++i) {
    const auto at = [&](int64_t token, size_t which) {
      return static_cast<double>(
          logits[static_cast<size_t>(2 * (feature.context_begin + token)) + which]);
    };
    for (int64_t k = i; k < std::min(n, i + longest); ++k) {
      const double score = at(i, 0) + at(k, 1);
      if (best.found && score <= best.score) continue;
      best = {score, feature.context[static_cast<size_t>(i)].begin,
              feature.context[static_cast<size_t>(k)].end, true};
    }
  }
  return best;
}

// The best answer over all windows, unless that there is none scores higher in every one.
Prediction predict_answer(const TaskExample& example, std::span<const Feature> windows,
                          std::span<const std::vector<float>> logits, const PredictRules& rules) {
  Span best;
  double none = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < windows.size(); ++i) {
    none = std::min(none, static_cast<double>(logits[i][0]) + static_cast<double>(logits[i][1]));
    const Span span = best_span(windows[i], logits[i], rules.max_answer_length);
    if (span.found && (!best.found || span.score > best.score)) best = span;
  }
  Prediction prediction;
  const double chance = 1 / (1 + std::exp(none - best.score));
  prediction.probabilities = {best.found ? static_cast<float>(chance) : 0.0F};
  if (best.found && none - best.score <= rules.null_score_difference) {
    prediction.answer = example.pair.substr(static_cast<size_t>(best.begin),
                                            static_cast<size_t>(best.end - best.begin));
  }
  return prediction;
}

LabelTable table_of(std::span<const std::vector<int32_t>> rows, int64_t labels) {
  LabelTable table(labels);
  for (const auto& row : rows) {
    std::vector<uint8_t> cells(static_cast<size_t>(labels));
    for (const int32_t label : row) cells[static_cast<size_t>(label)] = 1;
    table.add(cells);
  }
  return table;
}

void judge_classes(const Task& task, const TaskData& data, std::span<const Prediction> predictions,
                   std::span<const std::string> names, Judgement& judgement) {
  const auto labels = static_cast<int64_t>(names.size());
  std::vector<std::vector<int32_t>> is, said;
  std::vector<float> probabilities;
  for (size_t i = 0; i < predictions.size(); ++i) {
    is.push_back(data.examples[i].labels);
    said.push_back(predictions[i].labels);
    probabilities.insert(probabilities.end(), predictions[i].probabilities.begin(),
                         predictions[i].probabilities.end());
  }
  const LabelTable truth = table_of(is, labels), predicted = table_of(said, labels);
  const bool exclusive = task.kind == TaskKind::kSingleLabel;
  if (exclusive) {
    std::vector<int32_t> one, other;
    for (const auto& row : is) one.push_back(row.front());
    for (const auto& row : said) other.push_back(row.front());
    judgement.values = single_label_metrics(one, other, labels);
  } else {
    judgement.values = multi_label_metrics(truth, predicted);
  }
  add_score_metrics(probabilities, truth, exclusive, judgement.values);
  judgement.counts = count_labels(truth, predicted);
  judgement.counted.assign(names.begin(), names.end());
  if (names.size() <= kMostConfused) judgement.confusion = confusion_table(truth, predicted);
  const auto absent = std::ranges::count_if(judgement.counts, &Counts::absent);
  if (absent > 0) {
    judgement.notes.push_back(
        fmt::format("{} of {} labels are neither true nor predicted: they count 0 in f1_macro, and "
                    "not at all in f1_macro_present",
                    absent, labels));
  }
  const bool constant = said.size() > 1 && std::ranges::all_of(said, [&](const auto& row) {
                          return row == said.front();
                        });
  if (constant) {
    judgement.notes.emplace_back(
        "warning: the prediction is the same for every example: the model tells nothing apart");
  }
}

void judge_tags(const TaskData& data, std::span<const Prediction> predictions,
                std::span<const std::string> names, Judgement& judgement) {
  EntityCounts counts;
  const auto texts = [&](const std::vector<int32_t>& labels) {
    std::vector<std::string_view> tags;
    for (const int32_t label : labels) tags.emplace_back(names[static_cast<size_t>(label)]);
    return tags;
  };
  for (size_t i = 0; i < predictions.size(); ++i)
    counts.add(texts(data.examples[i].labels), texts(predictions[i].labels));
  judgement.values = counts.values();
  judgement.counts = counts.counts();
  judgement.counted = counts.types();
}

void judge_answers(const Task& task, const TaskData& data, std::span<const Prediction> predictions,
                   Judgement& judgement) {
  WeightedMean exact, f1;
  for (size_t i = 0; i < predictions.size(); ++i) {
    std::vector<std::string> truth;
    for (const Answer& answer : data.examples[i].answers) truth.push_back(answer.text);
    const AnswerScore score = score_answer(predictions[i].answer, truth, task.answers);
    exact.add(score.exact_match);
    f1.add(score.f1);
  }
  judgement.values = {{"exact_match", exact.value()}, {"f1", f1.value()}};
}

}  // namespace

std::vector<float> probabilities_of(TaskKind kind, std::span<const float> logits, int64_t labels) {
  std::vector<float> out;
  out.reserve(logits.size());
  const auto width = static_cast<size_t>(labels);
  for (size_t i = 0; i + width <= logits.size(); i += width) {
    if (kind != TaskKind::kMultiLabel) {
      softmax(logits.subspan(i, width), out);
      continue;
    }
    for (const float x : logits.subspan(i, width))
      out.push_back(static_cast<float>(1 / (1 + std::exp(-static_cast<double>(x)))));
  }
  return out;
}

std::vector<Prediction> predict_examples(const Task& task, const TaskData& data,
                                         const FeatureSet& features,
                                         std::span<const std::vector<float>> logits,
                                         const PredictRules& rules) {
  std::vector<Prediction> predictions;
  for (size_t begin = 0, end = 0; begin < features.rows.size(); begin = end) {
    const Feature& row = features.rows[begin];
    const TaskExample& example = data.examples[static_cast<size_t>(row.example)];
    while (end < features.rows.size() && features.rows[end].example == row.example) ++end;
    if (task.kind == TaskKind::kQuestions) {
      predictions.push_back(predict_answer(example,
                                           std::span(features.rows).subspan(begin, end - begin),
                                           logits.subspan(begin, end - begin), rules));
    } else if (task.kind == TaskKind::kTokens) {
      predictions.push_back(predict_tags(example, row, logits[begin], rules));
    } else {
      predictions.push_back(predict_classes_of(task, logits[begin], rules));
    }
  }
  return predictions;
}

Judgement judge(const Task& task, const TaskData& data, std::span<const Prediction> predictions,
                std::span<const std::string> labels) {
  Judgement judgement;
  if (task.kind == TaskKind::kTokens) {
    judge_tags(data, predictions, labels, judgement);
  } else if (task.kind == TaskKind::kQuestions) {
    judge_answers(task, data, predictions, judgement);
  } else if (task.kind == TaskKind::kRegression) {
    std::vector<float> truth, predicted;
    for (size_t i = 0; i < predictions.size(); ++i) {
      truth.push_back(data.examples[i].value);
      predicted.push_back(predictions[i].value);
    }
    judgement.values = regression_metrics(truth, predicted);
  } else {
    judge_classes(task, data, predictions, labels, judgement);
  }
  return judgement;
}

Json prediction_record(const Task& task, const TaskExample& example, int64_t index,
                       const Prediction& prediction) {
  Json line = {{"id", index}};
  if (task.kind == TaskKind::kRegression) {
    line["labels"] = example.value;
    line["predicted"] = prediction.value;
  } else if (task.kind == TaskKind::kQuestions) {
    line["labels"] = Json::array();
    for (const Answer& answer : example.answers) line["labels"].push_back(answer.text);
    line["predicted"] = prediction.answer;
  } else {
    line["labels"] = example.labels;
    line["predicted"] = prediction.labels;
  }
  line["probabilities"] = prediction.probabilities;
  return line;
}

Json named_prediction(const Task& task, const TaskExample& example, int64_t index,
                      const Prediction& prediction, std::span<const std::string> labels) {
  Json line = {{"id", index}};
  if (!example.id.empty()) line["id"] = example.id;
  if (task.kind == TaskKind::kRegression) {
    line["value"] = prediction.value;
    return line;
  }
  if (task.kind == TaskKind::kQuestions) {
    line["answer"] = prediction.answer;
    line["probability"] = prediction.probabilities.front();
    return line;
  }
  std::vector<std::string> names;
  for (const int32_t label : prediction.labels) names.push_back(labels[static_cast<size_t>(label)]);
  if (task.kind == TaskKind::kTokens) {
    line["tokens"] = example.words;
    line["tags"] = names;
    line["probabilities"] = prediction.probabilities;
    return line;
  }
  if (task.kind == TaskKind::kSingleLabel) line["label"] = names.front();
  else line["labels"] = names;
  Json probabilities = Json::object();
  for (size_t k = 0; k < labels.size(); ++k) probabilities[labels[k]] = prediction.probabilities[k];
  line["probabilities"] = std::move(probabilities);
  return line;
}

}  // namespace headwater
