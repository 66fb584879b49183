// Options of `headwater finetune`, `evaluate` and `predict` on downstream tasks. Names are Hugging
// Face's where it has one. Nothing here reads a file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/described.h"
#include "executors/device_options.h"
#include "finetune/features.h"
#include "finetune/judge.h"
#include "train/train_options.h"

namespace headwater {

// Which task, where its data stand, how long rows are, how decisions are made.
struct TaskOptions {
  std::string task;
  std::optional<std::string> text_column, pair_column, label_column, threshold_rule, answer_rule;
  std::string format = "auto";
  std::optional<bool> header;
  bool quotes = false;
  std::vector<std::string> labels;  // names, or one file of them
  int64_t max_seq_length = 0;       // 0: the model's positions, at most 512
  int64_t doc_stride = 128, max_query_length = 64, max_answer_length = 30;
  double null_score_difference = 0;
  std::optional<double> threshold;
  std::string at_threshold = "above";

  void describe(Fields& f);
  // The task with the columns and labels that were named.
  Result<Task> resolve_task(FileSystem& fs) const;
  ReadOptions read_options() const;
  EncodeRules encode_rules(int64_t max_positions) const;
  bool inclusive() const { return at_threshold == "at-least"; }
};

struct FinetuneOptions {
  std::string model, tokenizer, output_dir, train, dev, test;
  double dev_fraction = 0;
  bool resume = false;
  DeviceOptions device;
  TaskOptions task;
  TrainOptions steps;  // steps and optimizer of it
  double layerwise_lr_decay = 1;
  int64_t batch_size = 32, eval_batch_size = 64, gradient_accumulation_steps = 1;
  bool group_by_length = true;
  int64_t pad_to_multiple_of = 8;
  std::string class_weights = "none";
  std::vector<std::string> freeze;
  int64_t freeze_layers = 0;
  int64_t seed = 42, threads = 0;
  std::string metric_for_best_model;
  int64_t early_stopping_patience = 0;
  double early_stopping_threshold = 0;
  bool load_best_model_at_end = true;
  int64_t log_steps = 50, eval_steps = 0, save_steps = 0;
  bool keep_checkpoints = false;

  FinetuneOptions() {
    steps.num_train_epochs = 3;
    device.num_replicas = 1;  // the last batch of an epoch may have any number of rows
  }
  void describe(Fields& f);
  Result<> resolve(Fields& f);
  bool has_dev() const { return !dev.empty() || dev_fraction > 0; }

 private:
  void describe_files(Fields& f);
  void describe_batches(Fields& f);
  void describe_reports(Fields& f);
};

}  // namespace headwater
