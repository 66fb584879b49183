// A model on a downstream task: its source with the head and the labels that the task asks for, its
// tokenizer, and its logits on a set of examples. What finetune, evaluate and predict share.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "finetune/features.h"
#include "finetune/finetune_options.h"
#include "tokens/any_tokenizer.h"
#include "train/model_inputs.h"
#include "train/model_trainer.h"

namespace headwater {

Objective objective_of(TaskKind kind);

// What a fine-tuned model's config.json says of its task, under "headwater_task"; empty without.
struct SavedTask {
  std::string task;
  std::optional<Thresholds> thresholds;
  int64_t max_seq_length = 0;
  std::string pair_column;
  static SavedTask of(const Model& model);
  void put_into(Model& model) const;
};

// The folder of the model in the folder of a fine-tuning run; any other path as it is.
std::string model_directory(FileSystem& fs, const std::string& path);

// Of the file of the weights, or of config.json without them, so that a run can be known again by
// what it began from; empty where there is neither.
Result<std::string> model_digest(FileSystem& fs, const std::string& path);

// The model with the task's head. Its labels are set by set_labels().
Result<ModelSource> open_task_model(FileSystem& fs, const std::string& path, TaskKind kind);
void set_labels(Model& model, TaskKind kind, const std::vector<std::string>& labels);

struct TaskTokenizer {
  Encoder encoder;
  AnyTokenizer tokenizer;
  std::string path;
};
Result<TaskTokenizer> open_task_tokenizer(FileSystem& fs, const std::string& path,
                                          const Model& model);

// The files of the tokenizer that a model's folder needs.
Result<std::vector<std::pair<std::string, std::string>>> tokenizer_files(
    FileSystem& fs, const TaskTokenizer& tokenizer, const Model& model);

// The logits of every row, in their order, and the mean loss over the labels.
struct SplitLogits {
  std::vector<std::vector<float>> rows;
  double loss = 0;
};
// None when a signal stops it half-way.
Result<std::optional<SplitLogits>> compute_logits(ModelTrainer& trainer, Objective objective,
                                                  const FeatureSet& features,
                                                  const BatchRules& rules, int64_t batch_size,
                                                  std::string_view what);

}  // namespace headwater
