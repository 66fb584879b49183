#include "finetune/task.h"

#include <algorithm>

#include "base/described.h"

namespace headwater {
namespace {

// In the order of their numbers (searle-j/KOTE).
const std::vector<std::string>& kote_labels() {
  static const std::vector<std::string> kLabels = {"불평/불만",
                                                   "환영/호의",
                                                   "감동/감탄",
                                                   "지긋지긋",
                                                   "고마움",
                                                   "슬픔",
                                                   "화남/분노",
                                                   "존경",
                                                   "기대감",
                                                   "우쭐댐/무시함",
                                                   "안타까움/실망",
                                                   "비장함",
                                                   "의심/불신",
                                                   "뿌듯함",
                                                   "편안/쾌적",
                                                   "신기함/관심",
                                                   "아껴주는",
                                                   "부끄러움",
                                                   "공포/무서움",
                                                   "절망",
                                                   "한심함",
                                                   "역겨움/징그러움",
                                                   "짜증",
                                                   "어이없음",
                                                   "없음",
                                                   "패배/자기혐오",
                                                   "귀찮음",
                                                   "힘듦/지침",
                                                   "즐거움/신남",
                                                   "깨달음",
                                                   "죄책감",
                                                   "증오/혐오",
                                                   "흐뭇함(귀여움/예쁨)",
                                                   "당황/난처",
                                                   "경악",
                                                   "부담/안_내킴",
                                                   "서러움",
                                                   "재미없음",
                                                   "불쌍함/연민",
                                                   "놀람",
                                                   "행복",
                                                   "불안/걱정",
                                                   "기쁨",
                                                   "안심/신뢰"};
  return kLabels;
}

struct KindNames {
  TaskKind kind;
  const char *name, *problem, *metric;
  std::vector<std::string> others;
};

const std::vector<KindNames>& kinds() {
  static const std::vector<KindNames> kKinds = {
      {TaskKind::kSingleLabel,
       "single-label",
       "single_label_classification",
       "accuracy",
       {"classification", "text_classification", "sequence_classification", "pair"}},
      {TaskKind::kMultiLabel,
       "multi-label",
       "multi_label_classification",
       "f1_micro",
       {"multilabel"}},
      {TaskKind::kRegression, "regression", "regression", "spearman", {"similarity"}},
      {TaskKind::kTokens,
       "tokens",
       "token_classification",
       "f1_micro",
       {"ner", "tagging", "token"}},
      {TaskKind::kQuestions,
       "questions",
       "question_answering",
       "f1",
       {"qa", "squad", "extractive_qa"}}};
  return kKinds;
}

Task make_task(std::string name, TaskKind kind) {
  Task task;
  task.name = std::move(name);
  task.kind = kind;
  for (const KindNames& names : kinds()) {
    if (names.kind == kind) task.metric = names.metric;
  }
  return task;
}

Task make_table_task(std::string name, TaskKind kind, const char* text, const char* label,
                     std::optional<bool> header, std::vector<std::string> labels) {
  Task task = make_task(std::move(name), kind);
  task.text_column = text;
  task.label_column = label;
  task.header = header;
  task.labels = std::move(labels);
  return task;
}

std::vector<Task> make_known_tasks() {
  std::vector<Task> tasks;
  tasks.push_back(
      make_table_task("kote", TaskKind::kMultiLabel, "text|2", "labels|3", false, kote_labels()));
  tasks.back().threshold = ThresholdRule::kKote;
  tasks.push_back(make_table_task("nsmc", TaskKind::kSingleLabel, "document|text", "label", true,
                                  {"negative", "positive"}));
  tasks.push_back(
      make_table_task("3i4k", TaskKind::kSingleLabel, "text|2", "label|1", false,
                      {"fragment", "statement", "question", "command", "rhetorical question",
                       "rhetorical command", "intonation-dependent utterance"}));
  tasks.push_back(make_table_task("chatbot", TaskKind::kSingleLabel, "question|Q", "label", true,
                                  {"daily life", "break-up", "love"}));
  tasks.push_back(make_task("naver-ner", TaskKind::kTokens));
  tasks.push_back(make_task("korquad", TaskKind::kQuestions));
  tasks.back().answers = AnswerRule::kKorquad;
  return tasks;
}

const std::vector<Task>& known_tasks() {
  static const std::vector<Task> kTasks = make_known_tasks();
  return kTasks;
}

const KindNames& names_of(TaskKind kind) { return kinds()[static_cast<size_t>(kind)]; }

}  // namespace

bool Task::is_classification() const {
  return kind != TaskKind::kTokens && kind != TaskKind::kQuestions;
}

std::vector<std::string> task_names() {
  std::vector<std::string> names;
  for (const KindNames& kind : kinds()) names.emplace_back(kind.name);
  for (const Task& task : known_tasks()) names.push_back(task.name);
  return names;
}

Result<Task> find_task(std::string_view name) {
  const std::string folded = fold_name(name);
  for (const Task& task : known_tasks()) {
    if (fold_name(task.name) == folded) return task;
  }
  for (const KindNames& kind : kinds()) {
    const bool named = folded == fold_name(kind.name) || folded == kind.problem ||
                       std::ranges::find(kind.others, folded) != kind.others.end();
    if (named) return make_task(kind.name, kind.kind);
  }
  const std::vector<std::string> names = task_names();
  const std::string nearest = nearest_name(name, names);
  return fail_hint(Code::kInvalidArgument,
                   nearest.empty() ? fmt::format("{}", fmt::join(names, ", "))
                                   : fmt::format("did you mean {}?", nearest),
                   "there is no task '{}'", name);
}

std::string_view problem_name(TaskKind kind) { return names_of(kind).problem; }

ClassifierConfig::Problem problem_of(TaskKind kind) {
  if (kind == TaskKind::kMultiLabel) return ClassifierConfig::Problem::kMultiLabel;
  return kind == TaskKind::kRegression ? ClassifierConfig::Problem::kRegression
                                       : ClassifierConfig::Problem::kSingleLabel;
}

}  // namespace headwater
