#include "finetune/apply_run.h"

#include <nlohmann/json.hpp>

#include "base/log.h"
#include "base/threads.h"
#include "finetune/task_model.h"
#include "io/standard_streams.h"

namespace headwater {
namespace {

// What came out, of what.
struct Applied {
  Task task;
  std::vector<std::string> labels;
  TaskData data;
  FeatureSet features;
  std::vector<Prediction> predictions;
  double loss = 0;
};

// The options with what the model says where nothing was given.
Result<Task> task_of(FileSystem& fs, const ApplyOptions& options, const SavedTask& saved) {
  TaskOptions task = options.task;
  if (task.task.empty()) task.task = saved.task;
  if (task.task.empty()) {
    return fail_hint(Code::kInvalidArgument, fmt::format("{}", fmt::join(task_names(), ", ")),
                     "{} does not say what task it is for: name it with --task", options.model);
  }
  HW_ASSIGN_OR_RETURN(Task resolved, task.resolve_task(fs));
  if (resolved.pair_column.empty()) resolved.pair_column = saved.pair_column;
  return resolved;
}

Result<std::string> read_input(FileSystem& fs, const std::string& file) {
  if (file != "-") return read_text_file(fs, file);
  const auto source = standard_input();
  return read_text(*source, "standard input");
}

Result<std::unique_ptr<ModelTrainer>> load_model(const ModelSource& source, Objective objective,
                                                 const DeviceOptions& device) {
  if (!source.weights) return fail(Code::kNotFound, "{} has no weights", source.origin);
  ModelTrainerOptions options;
  options.model = {.model = source.model, .objective = objective};
  options.optimizer.kind = OptimizerKind::kSgd;  // nothing is trained: no memory for slots
  options.optimizer.sgd.momentum = 0;
  HW_ASSIGN_OR_RETURN(auto executor, device.open());
  HW_ASSIGN_OR_RETURN(auto trainer, ModelTrainer::create(options, std::move(executor)));
  HW_ASSIGN_OR_RETURN(const TrainState state, source.weights->state());
  HW_RETURN_IF_ERROR(trainer->load(state, /*with_slots=*/false, source.weights->path()));
  return trainer;
}

Result<> check_head(const ModelSource& source, const Task& task) {
  const bool other_problem =
      task.is_classification() && source.model.classifier.problem != problem_of(task.kind);
  if (!source.other_head && !other_problem) return {};
  return fail_hint(Code::kFailedPrecondition, "`headwater finetune` gives it one",
                   "{} has no head for {}", source.origin, problem_name(task.kind));
}

// What model, task and options agree on.
struct Setting {
  std::string path;  // of the model
  ModelSource source;
  SavedTask saved;
  Task task;
  std::vector<std::string> labels;
  EncodeRules rules;
};

Result<Setting> open_setting(FileSystem& fs, const ApplyOptions& options) {
  Setting setting;
  setting.path = model_directory(fs, options.model);
  TrainOptions plain;
  plain.model = setting.path;
  HW_ASSIGN_OR_RETURN(const ModelSource as_it_is, read_model_source(fs, plain));
  setting.saved = SavedTask::of(as_it_is.model);
  HW_ASSIGN_OR_RETURN(setting.task, task_of(fs, options, setting.saved));
  HW_ASSIGN_OR_RETURN(setting.source, open_task_model(fs, setting.path, setting.task.kind));
  HW_RETURN_IF_ERROR(check_head(setting.source, setting.task));
  const Model& model = setting.source.model;
  setting.rules = options.task.encode_rules(model.max_positions());
  if (options.task.max_seq_length == 0 && setting.saved.max_seq_length > 0)
    setting.rules.max_length = std::min(setting.saved.max_seq_length, model.max_positions());
  const bool named = !options.task.labels.empty();
  setting.labels =
      named || model.classifier.labels.empty() ? setting.task.labels : model.classifier.labels;
  if (setting.task.kind == TaskKind::kQuestions) return setting;
  for (int64_t i = 0; setting.labels.empty() && i < model.classifier.num_labels; ++i)
    setting.labels.push_back(fmt::format("LABEL_{}", i));
  if (static_cast<int64_t>(setting.labels.size()) == model.classifier.num_labels) return setting;
  return fail(Code::kInvalidArgument, "{} tells {} labels apart, not {}", setting.source.origin,
              model.classifier.num_labels, setting.labels.size());
}

Result<Thresholds> thresholds_of(const ApplyOptions& options, const Setting& setting) {
  const bool own = options.task.threshold || options.task.threshold_rule;
  if (own && is_tuned(setting.task.threshold)) {
    return fail_hint(Code::kInvalidArgument,
                     "`headwater finetune` tunes thresholds on the dev split",
                     "thresholds are never tuned on what is judged");
  }
  if (!setting.saved.thresholds || own) {
    return tune_thresholds(setting.task.threshold, options.task.threshold.value_or(0.5),
                           options.task.inclusive(), {}, LabelTable());
  }
  const Thresholds& saved = *setting.saved.thresholds;
  if (saved.values.size() == 1 || saved.values.size() == setting.labels.size()) return saved;
  return fail(Code::kInvalidArgument, "{} has {} thresholds for {} labels", setting.path,
              saved.values.size(), setting.labels.size());
}

Result<TaskData> read_data(FileSystem& fs, const ApplyOptions& options, const Setting& setting,
                           bool labels_optional) {
  ReadOptions read = options.task.read_options();
  read.labels_optional = labels_optional;
  HW_ASSIGN_OR_RETURN(const std::string content, read_input(fs, options.file));
  const std::string name = options.file == "-" ? "standard input" : options.file;
  HW_ASSIGN_OR_RETURN(TaskData data, parse_task_data(content, name, setting.task, read));
  if (!labels_optional) HW_RETURN_IF_ERROR(resolve_labels(setting.task, setting.labels, data));
  return data;
}

Result<Applied> apply(const ApplyOptions& options, bool labels_optional) {
  set_num_threads(static_cast<int>(options.threads));
  FileSystem& fs = local_files();
  HW_ASSIGN_OR_RETURN(const Setting setting, open_setting(fs, options));
  Applied applied{setting.task, setting.labels, {}, {}, {}, 0};
  PredictRules predict{setting.labels,
                       {{0.5}, false},
                       options.task.max_answer_length,
                       options.task.null_score_difference};
  if (setting.task.kind == TaskKind::kMultiLabel) {
    HW_ASSIGN_OR_RETURN(predict.thresholds, thresholds_of(options, setting));
  }
  HW_ASSIGN_OR_RETURN(
      const TaskTokenizer tokenizer,
      open_task_tokenizer(fs, options.tokenizer.empty() ? setting.path : options.tokenizer,
                          setting.source.model));
  HW_ASSIGN_OR_RETURN(applied.data, read_data(fs, options, setting, labels_optional));
  HW_ASSIGN_OR_RETURN(applied.features, encode_examples(setting.task, applied.data,
                                                        tokenizer.encoder, setting.rules));
  const Objective objective = objective_of(setting.task.kind);
  HW_ASSIGN_OR_RETURN(const auto trainer, load_model(setting.source, objective, options.device));
  BatchRules batches;
  batches.kind = setting.task.kind;
  batches.labels = static_cast<int64_t>(setting.labels.size());
  batches.pad_id = tokenizer.encoder.special_ids().pad;
  batches.max_length = setting.rules.max_length;
  HW_ASSIGN_OR_RETURN(const auto logits,
                      compute_logits(*trainer, objective, applied.features, batches,
                                     options.eval_batch_size, "examples"));
  if (!logits) return fail(Code::kCancelled, "stopped by a signal");
  applied.predictions =
      predict_examples(setting.task, applied.data, applied.features, logits->rows, predict);
  applied.loss = logits->loss;
  return applied;
}

}  // namespace

Json Evaluation::to_json() const {
  Json json = {
      {"model", model},       {"task", task},
      {"examples", examples}, {"metrics", headwater::to_json(judgement.values)},
      {"labels", labels},     {"per_label", per_label_json(judgement.counts, judgement.counted)}};
  if (!judgement.confusion.empty()) json["confusion"] = judgement.confusion;
  return json;
}

Result<Evaluation> evaluate_task(const ApplyOptions& options) {
  HW_ASSIGN_OR_RETURN(const Applied applied, apply(options, /*labels_optional=*/false));
  Evaluation evaluation{options.model, applied.task.name, applied.labels,
                        static_cast<int64_t>(applied.data.examples.size()),
                        judge(applied.task, applied.data, applied.predictions, applied.labels)};
  evaluation.judgement.values.insert(evaluation.judgement.values.begin(), {"loss", applied.loss});
  return evaluation;
}

Result<> predict_task(const ApplyOptions& options,
                      const std::function<Result<>(const std::string& line)>& write) {
  HW_ASSIGN_OR_RETURN(const Applied applied, apply(options, /*labels_optional=*/true));
  for (size_t i = 0; i < applied.predictions.size(); ++i) {
    HW_RETURN_IF_ERROR(write(
        dump_json(named_prediction(applied.task, applied.data.examples[i], static_cast<int64_t>(i),
                                   applied.predictions[i], applied.labels)) +
        "\n"));
  }
  return {};
}

}  // namespace headwater
