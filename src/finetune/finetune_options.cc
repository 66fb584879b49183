#include "finetune/finetune_options.h"

#include <algorithm>

namespace headwater {
namespace {

constexpr int64_t kLongestByDefault = 512;

}  // namespace

void TaskOptions::describe(Fields& f) {
  f.group("Task");
  f("task", task, fmt::format("{}", fmt::join(task_names(), ", ")))
      .value_name("NAME")
      .alias("task_name");
  f("text_column", text_column, "of the text, by name or by number from 1; auto: the task's")
      .value_name("COLUMN")
      .alias("text_column_name");
  f("pair_column", pair_column, "of a second text, for pairs").value_name("COLUMN");
  f("label_column", label_column, "of the label or labels")
      .value_name("COLUMN")
      .alias("label_column_name");
  f("format", format, "of a table; auto: by the file's name, else tsv")
      .one_of({"auto", "tsv", "csv", "jsonl"});
  f("header", header, "the first row names the columns; auto: where it names the text's column");
  f("quotes", quotes, "tab-separated cells may be quoted, as those of csv always may");
  f("labels", labels, "names of the labels in the order of their indices, or a file, one a line")
      .value_name("NAME|FILE")
      .alias("label_list");
  f("max_seq_length", max_seq_length,
    "longest row in tokens, longer texts are cut; 0: the model's positions, at most 512")
      .range(0, 1 << 20)
      .alias("max_length");
  f("threshold_rule", threshold_rule,
    "several labels: a fixed threshold, one tuned on the dev split, one per label, or KOTE's 0.3; "
    "auto: the task's")
      .one_of(threshold_rule_names());
  f("threshold", threshold, "of the fixed rule; auto: 0.5").range(0, 1);
  f("at_threshold", at_threshold, "a label is chosen above its threshold, or at least at it")
      .one_of({"above", "at-least"});
  f("doc_stride", doc_stride, "questions: tokens from one window of a context to the next")
      .range(1, 1 << 20);
  f("max_query_length", max_query_length, "questions: tokens of a question").range(1, 1 << 16);
  f("max_answer_length", max_answer_length, "questions: tokens of an answer").range(1, 1 << 16);
  f("null_score_diff_threshold", null_score_difference,
    "questions: no answer where that scores higher by more than this");
  f("answer_rule", answer_rule, "questions: how answers are compared; auto: the task's")
      .one_of({"squad", "korquad"});
}

Result<Task> TaskOptions::resolve_task(FileSystem& fs) const {
  HW_ASSIGN_OR_RETURN(Task resolved, find_task(task));
  if (!resolved.is_classification() && (text_column || pair_column || label_column)) {
    return fail(Code::kInvalidArgument, "the files of {} have no columns to choose", resolved.name);
  }
  if (text_column) {
    resolved.text_column = *text_column;
    // A name stands in a header, a number needs none.
    resolved.header = text_column->find_first_not_of("0123456789") != std::string::npos;
  }
  resolved.pair_column = pair_column.value_or(resolved.pair_column);
  resolved.label_column = label_column.value_or(resolved.label_column);
  if (header) resolved.header = header;
  if (threshold) resolved.threshold = ThresholdRule::kFixed;
  if (threshold_rule) resolved.threshold = headwater::threshold_rule(*threshold_rule);
  if (answer_rule) {
    resolved.answers = *answer_rule == "korquad" ? AnswerRule::kKorquad : AnswerRule::kSquad;
  }
  if (!labels.empty()) resolved.labels = labels;
  if (labels.size() == 1 && fs.exists(labels.front())) {
    HW_ASSIGN_OR_RETURN(const std::string text, read_text_file(fs, labels.front()));
    resolved.labels.clear();
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = std::min(text.find('\n', begin), text.size());
      std::string name = text.substr(begin, end - begin);
      if (name.ends_with('\r')) name.pop_back();
      if (!name.empty()) resolved.labels.push_back(std::move(name));
      begin = end + 1;
    }
  }
  return resolved;
}

ReadOptions TaskOptions::read_options() const {
  ReadOptions options;
  options.table.format = format;
  options.table.quotes = quotes;
  return options;
}

EncodeRules TaskOptions::encode_rules(int64_t max_positions) const {
  const int64_t most = max_seq_length > 0 ? max_seq_length : kLongestByDefault;
  return {std::min(most, max_positions), max_query_length, doc_stride};
}

void FinetuneOptions::describe_files(Fields& f) {
  f.group("Model and data");
  f("model", model, "what is fine-tuned: a Hugging Face directory or a checkpoint of any format")
      .value_name("DIR")
      .alias("model_name_or_path")
      .required();
  f("tokenizer", tokenizer, "folder or file of the tokenizer; default: the model's folder")
      .value_name("PATH")
      .alias("tokenizer_name")
      .alias("vocab_file");
  f("train", train, "training examples").value_name("FILE").alias("train_file").required();
  f("dev", dev, "examples by which the best model and thresholds are chosen")
      .value_name("FILE")
      .alias("validation_file");
  f("dev_fraction", dev_fraction, "or a share of the training file, its last examples")
      .range(0, 0.5)
      .alias("validation_split");
  f("test", test, "examples that are only judged, once, at the end")
      .value_name("FILE")
      .alias("test_file");
  f("output_dir", output_dir, "model, metrics and predictions of the run")
      .value_name("DIR")
      .required();
  f("resume", resume, "continue the run in the output directory as if it had not stopped");
  f("threads", threads, "CPU threads; 0: one per core").range(0, 4096);
  device.describe(f);
}

void FinetuneOptions::describe_batches(Fields& f) {
  f.group("Batches");
  f("batch_size", batch_size, "examples of a batch")
      .range(1, 1 << 20)
      .alias("train_batch_size")
      .alias("per_device_train_batch_size");
  f("eval_batch_size", eval_batch_size, "of a batch that is judged")
      .range(1, 1 << 20)
      .alias("per_device_eval_batch_size");
  f("gradient_accumulation_steps", gradient_accumulation_steps,
    "batches whose gradients one step adds up, weighted by their examples")
      .range(1, 1 << 20);
  f("group_by_length", group_by_length, "texts of similar length come into one batch");
  f("pad_to_multiple_of", pad_to_multiple_of, "widths of batches are multiples of this")
      .range(1, 1 << 16);
  f("seed", seed, "order, dropout and the fresh head follow from it").non_negative();
  f("class_weights", class_weights,
    "what labels count in the loss: none, balanced, or a number for each, comma-separated")
      .value_name("RULE|LIST");
}

void FinetuneOptions::describe_reports(Fields& f) {
  f.group("Choice of the model, reports and checkpoints");
  f("metric_for_best_model", metric_for_best_model,
    "of the dev split; default: the task's (accuracy, f1_micro, spearman, f1)")
      .value_name("NAME");
  f("load_best_model_at_end", load_best_model_at_end,
    "keep the best evaluation's model, not the last");
  f("early_stopping_patience", early_stopping_patience,
    "end after so many evaluations without a better one; 0: never")
      .non_negative();
  f("early_stopping_threshold", early_stopping_threshold, "by how much it must be better")
      .non_negative();
  f("log_steps", log_steps, "a line of metrics every so many steps")
      .positive()
      .alias("logging_steps");
  f("eval_steps", eval_steps, "evaluate every so many steps; 0: after every epoch").non_negative();
  f("save_steps", save_steps, "a checkpoint every so many steps; 0: after every epoch")
      .non_negative()
      .alias("save_checkpoints_steps");
  f("keep_checkpoints", keep_checkpoints,
    "keep the training states of a finished run, not only its model");
}

void FinetuneOptions::describe(Fields& f) {
  describe_files(f);
  task.describe(f);
  describe_batches(f);
  steps.describe_optimizer(f);
  f("layerwise_lr_decay", layerwise_lr_decay,
    "of the rate from layer to layer downwards, as google's fine-tuning (0.8; large models 0.9); "
    "1: none")
      .range(0.01, 1);
  f("freeze", freeze, "parameters that are not trained: all whose name begins so")
      .value_name("PREFIX");
  f("freeze_layers", freeze_layers, "or the embeddings and so many layers above them")
      .range(0, 1 << 10);
  describe_reports(f);
}

Result<> FinetuneOptions::resolve(Fields& f) {
  if (task.task.empty()) {
    return fail_hint(Code::kInvalidArgument, fmt::format("{}", fmt::join(task_names(), ", ")),
                     "name the task with --task");
  }
  HW_ASSIGN_OR_RETURN(const Task named, find_task(task.task));
  if (steps.max_steps && f.find("num_train_epochs")->is_default()) steps.num_train_epochs.reset();
  HW_RETURN_IF_ERROR(steps.resolve(f));
  if (!dev.empty() && dev_fraction > 0) {
    return fail(Code::kInvalidArgument,
                "--dev names another file, --dev-fraction holds out a part of this one: give one");
  }
  const ThresholdRule rule =
      task.threshold_rule ? threshold_rule(*task.threshold_rule) : named.threshold;
  if (is_tuned(rule) && !has_dev()) {
    return fail_hint(Code::kInvalidArgument, "give --dev or --dev-fraction",
                     "thresholds are tuned on the dev split and never on what is reported");
  }
  if (early_stopping_patience > 0 && !has_dev()) {
    return fail_hint(Code::kInvalidArgument, "give --dev or --dev-fraction",
                     "early stopping needs an evaluation");
  }
  if (metric_for_best_model.starts_with("eval_"))  // transformers' prefix
    metric_for_best_model.erase(0, 5);
  if (metric_for_best_model.empty()) metric_for_best_model = named.metric;
  return {};
}

}  // namespace headwater
