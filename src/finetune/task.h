// What a downstream task is: its kind, where its data stand in a file, its labels. Generic tasks
// are their kind; KOTE, NSMC and others are known by name with their own layout.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "finetune/answers.h"
#include "finetune/thresholds.h"
#include "models/hf_config.h"

namespace headwater {

enum class TaskKind {
  kSingleLabel,
  kMultiLabel,
  kRegression,
  kTokens,     // a tag for every word
  kQuestions,  // a part of a text that answers a question
};

struct Task {
  std::string name;
  TaskKind kind = TaskKind::kSingleLabel;
  // Of a table: names, or numbers from 1. Several names, separated by |: the first that is there.
  std::string text_column = "text|sentence|sentence1|document|premise|comment", pair_column,
              label_column = "label|labels";
  std::optional<bool> header;       // none: the first row is one if it holds the text column's name
  std::vector<std::string> labels;  // names; empty: as the training data have them
  ThresholdRule threshold = ThresholdRule::kFixed;
  AnswerRule answers = AnswerRule::kSquad;
  std::string metric;  // by which the best model is chosen

  bool is_classification() const;  // single label, several, or regression
};

// "single-label", "multi-label", "regression", "tokens", "questions", by those names or
// transformers' ("multi_label_classification", ...), or a known data set.
Result<Task> find_task(std::string_view name);
std::vector<std::string> task_names();

// As transformers' configurations call the kind; of the last two its pipelines.
std::string_view problem_name(TaskKind kind);
ClassifierConfig::Problem problem_of(TaskKind kind);

}  // namespace headwater
