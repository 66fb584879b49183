// From logits to predictions, and from predictions to metrics and lines of a file, for every kind
// of task.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "finetune/features.h"
#include "finetune/task_data.h"
#include "finetune/thresholds.h"

namespace headwater {

struct PredictRules {
  std::vector<std::string> labels;  // names
  Thresholds thresholds{{0.5}, false};
  int64_t max_answer_length = 30;    // tokens
  double null_score_difference = 0;  // no answer where its score is higher by more than this
};

struct Prediction {
  std::vector<int32_t> labels;       // chosen; of words one for each
  std::vector<float> probabilities;  // of every label; of words and answers of what was chosen
  float value = 0;                   // of regressions
  std::string answer;                // of questions; empty: none
};

// Softmax of exclusive labels, sigmoid of others: logits [N, L] -> probabilities [N, L].
std::vector<float> probabilities_of(TaskKind kind, std::span<const float> logits, int64_t labels);

// `logits`: of every row [L], of words [T, L], of questions [T, 2]. One prediction per example.
std::vector<Prediction> predict_examples(const Task& task, const TaskData& data,
                                         const FeatureSet& features,
                                         std::span<const std::vector<float>> logits,
                                         const PredictRules& rules);

struct Judgement {
  MetricValues values;
  std::vector<std::string> counted;             // labels, or types of entities
  std::vector<Counts> counts;                   // of each of them
  std::vector<std::vector<int64_t>> confusion;  // confusion_table(); empty where there is none
  std::vector<std::string> notes;               // what a person should know
};
Judgement judge(const Task& task, const TaskData& data, std::span<const Prediction> predictions,
                std::span<const std::string> labels);

// A line of predictions.jsonl, labels as indices: docs/formats/finetune-run.md.
Json prediction_record(const Task& task, const TaskExample& example, int64_t index,
                       const Prediction& prediction);
// A line for people and other programs, labels by their names.
Json named_prediction(const Task& task, const TaskExample& example, int64_t index,
                      const Prediction& prediction, std::span<const std::string> labels);

}  // namespace headwater
