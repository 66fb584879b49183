#include "finetune/finetune_run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/checked.h"
#include "base/digest.h"
#include "base/log.h"
#include "base/stop_signal.h"
#include "base/threads.h"
#include "checkpoints/hf_export.h"
#include "checkpoints/native.h"
#include "finetune/task_model.h"
#include "train/run_inputs.h"
#include "train/train_loop.h"

namespace headwater {
namespace {

using Clock = std::chrono::steady_clock;

struct Split {
  TaskData data;
  FeatureSet features;
};

class FinetuneRun {
 public:
  FinetuneRun(const FinetuneOptions& options, const Fields& fields)
      : options_(options), fields_(fields), fs_(local_files()), begun_(Clock::now()) {}

  Result<int> run() {
    HW_RETURN_IF_ERROR(check_finished());
    HW_ASSIGN_OR_RETURN(task_, options_.task.resolve_task(fs_));
    HW_RETURN_IF_ERROR(open_model());
    HW_RETURN_IF_ERROR(open_data());
    HW_RETURN_IF_ERROR(open_trainer());
    HW_RETURN_IF_ERROR(find_start());
    HW_RETURN_IF_ERROR(plan_steps());
    HW_RETURN_IF_ERROR(open_directory());
    describe_run();
    HW_ASSIGN_OR_RETURN(const int code, train());
    if (code == 0) HW_RETURN_IF_ERROR(finish());
    HW_RETURN_IF_ERROR(reporter_->close());
    return code;
  }

 private:
  std::string output(std::string_view name) const { return join_path(options_.output_dir, name); }

  Result<> check_finished() {
    if (!fs_.exists(output("results.json"))) return {};
    return fail_hint(Code::kAlreadyExists, "name another --output-dir", "{} holds a finished run",
                     options_.output_dir);
  }

  Result<> open_model() {
    const std::string path = model_directory(fs_, options_.model);
    HW_ASSIGN_OR_RETURN(source_, open_task_model(fs_, path, task_.kind));
    const bool is_config = path.ends_with(".json");  // of fresh weights
    const std::string beside = is_config ? directory_name(path) : path;
    HW_ASSIGN_OR_RETURN(
        tokenizer_,
        open_task_tokenizer(fs_, options_.tokenizer.empty() ? beside : options_.tokenizer,
                            source_->model));
    rules_ = options_.task.encode_rules(source_->model.max_positions());
    return {};
  }

  Result<> read_split(const std::string& path, Split& split) {
    HW_ASSIGN_OR_RETURN(split.data, read_task_data(fs_, path, task_, options_.task.read_options()));
    return {};
  }

  // The last examples of the training file.
  Result<> hold_out() {
    auto& all = train_.data.examples;
    const auto share = static_cast<size_t>(options_.dev_fraction * static_cast<double>(all.size()));
    if (share < 1 || share >= all.size()) {
      return fail(Code::kInvalidArgument, "{} of {} examples leaves no dev or no training split",
                  options_.dev_fraction, all.size());
    }
    const auto first = all.end() - static_cast<ptrdiff_t>(share);
    dev_.data = {train_.data.path, train_.data.digest, {first, all.end()}, true, {}};
    all.erase(first, all.end());
    return {};
  }

  Result<> open_data() {
    HW_RETURN_IF_ERROR(read_split(options_.train, train_));
    if (!options_.dev.empty()) HW_RETURN_IF_ERROR(read_split(options_.dev, dev_));
    if (!options_.test.empty()) HW_RETURN_IF_ERROR(read_split(options_.test, test_));
    labels_ = task_.labels.empty() ? collect_labels(task_, train_.data.examples) : task_.labels;
    if (labels_.empty() && task_.kind != TaskKind::kQuestions)
      return fail(Code::kInvalidArgument, "{} has no labels at all", options_.train);
    if (task_.kind == TaskKind::kSingleLabel && labels_.size() < 2) {
      return fail(Code::kInvalidArgument, "{} has a single label, '{}': there is nothing to learn",
                  options_.train, labels_.front());
    }
    for (Split* split : {&train_, &dev_, &test_})
      HW_RETURN_IF_ERROR(resolve_labels(task_, labels_, split->data));
    if (options_.dev_fraction > 0) HW_RETURN_IF_ERROR(hold_out());
    for (Split* split : {&train_, &dev_, &test_}) {
      HW_ASSIGN_OR_RETURN(split->features,
                          encode_examples(task_, split->data, tokenizer_->encoder, rules_));
    }
    set_labels(source_->model, task_.kind, labels_);
    HW_RETURN_IF_ERROR(set_batch_rules());
    return check_metric();
  }

  Result<> set_batch_rules() {
    batch_rules_.kind = task_.kind;
    batch_rules_.labels = static_cast<int64_t>(labels_.size());
    batch_rules_.pad_id = tokenizer_->encoder.special_ids().pad;
    batch_rules_.multiple = options_.pad_to_multiple_of;
    batch_rules_.max_length = rules_.max_length;
    HW_ASSIGN_OR_RETURN(batch_rules_.class_weights, class_weights());
    return {};
  }

  Result<std::vector<float>> class_weights() const {
    std::vector<float> weights;
    if (options_.class_weights == "none") return weights;
    if (task_.kind == TaskKind::kRegression || task_.kind == TaskKind::kQuestions)
      return fail(Code::kInvalidArgument, "{} has no classes to weigh", task_.name);
    if (options_.class_weights == "balanced") {
      weights = balanced_weights(task_.kind, train_.data.examples, batch_rules_.labels);
    } else {
      HW_ASSIGN_OR_RETURN(const Json list,
                          parse_json("[" + options_.class_weights + "]", "--class-weights"));
      for (const Json& weight : list)
        weights.push_back(weight.is_number() ? weight.get<float>() : -1);
    }
    const bool valid =
        weights.size() == labels_.size() &&
        std::ranges::all_of(weights, [](float w) { return std::isfinite(w) && w > 0; });
    if (!valid) {
      return fail(Code::kInvalidArgument,
                  "--class-weights takes {} numbers over 0, one for each label", labels_.size());
    }
    // Of exclusive labels only their ratio counts; sums under 1 would not be divided by.
    const float least = std::ranges::min(weights);
    for (float& weight : weights) weight /= task_.kind == TaskKind::kMultiLabel ? 1 : least;
    return weights;
  }

  // The metric by which the best model is chosen must be one that the task has.
  Result<> check_metric() const {
    if (!options_.has_dev()) return {};
    TaskData one;
    one.examples.push_back(dev_.data.examples.front());
    const Feature& row = dev_.features.rows.front();
    FeatureSet features;
    features.rows.push_back(row);
    const size_t width = task_.kind == TaskKind::kQuestions ? 2 : labels_.size();
    const std::vector<std::vector<float>> logits = {
        std::vector<float>(task_.is_classification() ? width : width * row.input_ids.size())};
    const auto predictions = predict_examples(task_, one, features, logits, {labels_});
    const MetricValues values = judge(task_, one, predictions, labels_).values;
    if (options_.metric_for_best_model == "loss" ||
        find_metric(values, options_.metric_for_best_model))
      return {};
    std::vector<std::string> names = {"loss"};
    for (const auto& [name, value] : values) names.push_back(name);
    return fail_hint(Code::kInvalidArgument, fmt::format("{}", fmt::join(names, ", ")),
                     "{} has no metric '{}'", task_.name, options_.metric_for_best_model);
  }

  std::vector<std::string> frozen() const {
    std::vector<std::string> prefixes = options_.freeze;
    if (options_.freeze_layers == 0) return prefixes;
    const std::string body(model_type(source_->model.architecture));
    prefixes.push_back(body + ".embeddings");
    for (int64_t i = 0; i < options_.freeze_layers; ++i)
      prefixes.push_back(fmt::format("{}.encoder.layer.{}.", body, i));
    return prefixes;
  }

  int64_t layers() const {
    if (const auto* bert = std::get_if<BertConfig>(&source_->model.config))
      return bert->num_hidden_layers;
    return std::get<ElectraConfig>(source_->model.config).num_hidden_layers;
  }

  Result<> open_trainer() {
    ModelTrainerOptions trainer;
    trainer.model = {.model = source_->model,
                     .objective = objective_of(task_.kind),
                     .label_smoothing = options_.steps.label_smoothing,
                     .frozen = frozen()};
    trainer.optimizer = options_.steps.optimizer_options();
    trainer.optimizer.layer_decay = options_.layerwise_lr_decay;
    trainer.optimizer.layers = layers();
    trainer.accumulation_steps = options_.gradient_accumulation_steps;
    trainer.seed = static_cast<uint64_t>(options_.seed);
    trainer.max_programs = kPrograms;
    HW_ASSIGN_OR_RETURN(auto executor, options_.device.open());
    HW_ASSIGN_OR_RETURN(trainer_, ModelTrainer::create(trainer, std::move(executor)));
    metrics_ = ModelMetrics(objective_of(task_.kind));
    return {};
  }

  // The head may be fresh, and BERT's pooler with it; anything else would be half a model.
  Result<> check_fit(const FitReport& fit) const {
    const auto is_head = [](const std::string& name) {
      return name.find(".pooler.") != std::string::npos ||
             (!name.starts_with("bert.") && !name.starts_with("electra."));
    };
    const bool fits = std::ranges::all_of(fit.missing, is_head) &&
                      std::ranges::all_of(fit.mismatched,
                                          [&](const auto& m) { return is_head(m.expected.name); });
    if (fits && fit.matched > 0) return {};
    return fail(Code::kFailedPrecondition, "{} does not fit: {}", source_->origin, fit.to_string());
  }

  Result<> find_start() {
    const auto latest = latest_checkpoint(fs_, options_.output_dir);
    if (!latest && latest.error().code != Code::kNotFound) return in_context(latest.error(), "run");
    if (options_.resume) return resume(latest);
    if (latest) {
      return fail_hint(
          Code::kAlreadyExists, "continue it with --resume, or name another --output-dir",
          "{} holds a run that has reached step {}", options_.output_dir, latest->step);
    }
    for (const std::string& note : source_->notes) log_info("note: {}", note);
    if (!source_->weights) {
      log_info("note: {}: nothing is pre-trained", source_->origin);
      return trainer_->initialize();
    }
    HW_ASSIGN_OR_RETURN(const TrainState state, source_->weights->state());
    HW_ASSIGN_OR_RETURN(const FitReport fit, trainer_->load_fitting(state, /*with_slots=*/false));
    HW_RETURN_IF_ERROR(check_fit(fit));
    log_info("{}: {}", source_->weights->path(), fit.to_string());
    return {};
  }

  Result<> resume(const Result<CheckpointPlace>& latest) {
    if (!latest) {
      return fail_hint(Code::kNotFound, "start it without --resume",
                       "there is no run to resume in {}", options_.output_dir);
    }
    HW_ASSIGN_OR_RETURN(const TrainState state, load_checkpoint(fs_, latest->path));
    HW_RETURN_IF_ERROR(trainer_->load(state, /*with_slots=*/true, latest->path));
    HW_ASSIGN_OR_RETURN(const Json meta, parse_json(state.meta, latest->path));
    if (saved_text(meta, "verb") != "finetune")
      return fail(Code::kInvalidArgument, "{} is no checkpoint of `headwater finetune`",
                  latest->path);
    if (meta.value("data", Json()) != data_digests()) {
      return fail_hint(Code::kFailedPrecondition, "resume with the files that it began with",
                       "{} was trained on other data", latest->path);
    }
    first_ = state.step;
    resumed_ = true;
    if (const auto seconds = meta.find("seconds"); seconds != meta.end() && seconds->is_number())
      seconds_before_ = seconds->get<double>();
    worse_ = saved_number(meta, "evaluations_without_gain");
    if (const auto best = meta.find("best_value"); best != meta.end() && best->is_number()) {
      best_value_ = best->get<double>();
      best_step_ = saved_number(meta, "best_step");
    }
    for (const std::string& line : changed_options(meta, fields_)) log_line_warning(line);
    return {};
  }

  Result<> plan_steps() {
    const auto rows = static_cast<int64_t>(train_.features.rows.size());
    const int64_t batches = ceil_div(rows, options_.batch_size);
    epoch_steps_ = ceil_div(batches, options_.gradient_accumulation_steps);
    int64_t steps = options_.steps.max_steps.value_or(std::numeric_limits<int64_t>::max());
    if (options_.steps.num_train_epochs) {
      const auto all = checked_mul(epoch_steps_, *options_.steps.num_train_epochs);
      if (!all) return fail(Code::kOutOfRange, "--num-train-epochs is too large");
      steps = std::min(steps, *all);
    }
    final_ = steps;
    schedule_ = options_.steps.schedule(final_);
    return {};
  }

  Json data_digests() const {
    Json digests = {{"train", train_.data.digest}};
    if (options_.has_dev()) digests["dev"] = dev_.data.digest;
    if (!options_.test.empty()) digests["test"] = test_.data.digest;
    digests["vocabulary"] = tokenizer_->tokenizer.digest();
    return digests;
  }

  Result<> open_directory() {
    HW_RETURN_IF_ERROR(fs_.make_directories(options_.output_dir));
    Json run = {{"version", HW_VERSION},        {"verb", "finetune"},
                {"options", fields_.to_json()}, {"data", data_digests()},
                {"seed", options_.seed},        {"model", source_->model.to_hf_json()}};
    HW_ASSIGN_OR_RETURN(run["data"]["model"], model_digest(fs_, options_.model));
    HW_RETURN_IF_ERROR(write_file_atomic(fs_, output("run.json"), dump_json(run, 2) + "\n"));
    HW_ASSIGN_OR_RETURN(reporter_,
                        RunReporter::open(fs_, options_.output_dir, "finetune", first_, final_,
                                          resumed_ ? std::optional(first_) : std::nullopt));
    return {};
  }

  void describe_run() {
    const auto describe = [&](std::string_view name, const Split& split) {
      if (split.data.examples.empty()) return;
      reporter_->say(fmt::format("{:<9} {} examples, {} rows, {} tokens, {} as long as {}: {}",
                                 name, split.data.examples.size(), split.features.rows.size(),
                                 split.features.tokens(), split.features.cut, rules_.max_length,
                                 split.data.path));
      for (const std::string& note : split.data.notes) reporter_->say("note: " + note);
    };
    reporter_->say(
        fmt::format("model     {}, {} parameters", source_->origin, trainer_->parameter_count()));
    reporter_->say(fmt::format("task      {}, {}, {} labels", task_.name, problem_name(task_.kind),
                               labels_.size()));
    describe("train", train_);
    describe("dev", dev_);
    describe("test", test_);
    reporter_->say(
        fmt::format("optimizer {}, rate {}", options_.steps.optimizer, schedule_.text(first_)));
    reporter_->say(fmt::format("steps     {} to {}, {} an epoch, {} threads", first_, final_,
                               epoch_steps_, num_threads()));
  }

  Result<int> train() {
    if (first_ >= final_) return 0;  // only the end is missing
    const auto or_epoch = [&](int64_t steps) { return steps > 0 ? steps : epoch_steps_; };
    const LoopOptions loop{.first_step = first_,
                           .final_step = final_,
                           .log_steps = options_.log_steps,
                           .save_steps = or_epoch(options_.save_steps),
                           .eval_steps = options_.has_dev() ? or_epoch(options_.eval_steps) : 0,
                           .evaluates_first = !resumed_,
                           .directory = options_.output_dir};
    LoopParts parts;
    parts.train = [this](int64_t step) { return train_step(step); };
    parts.take_metrics = [this] {
      const MetricValues values = metrics_.values();
      metrics_.reset();
      return values;
    };
    parts.evaluate = [this](int64_t done) { return evaluate(done); };
    parts.enough = [this] { return enough(); };
    parts.save = [this](int64_t done) { return save(options_.output_dir, done); };
    return run_train_loop(loop, parts, *reporter_);
  }

  Result<std::optional<StepReport>> train_step(int64_t step) {
    const int64_t epoch = step / epoch_steps_;
    if (epoch != epoch_) {
      batches_ = epoch_batches(train_.features.rows, options_.batch_size, options_.group_by_length,
                               static_cast<uint64_t>(options_.seed), epoch);
      epoch_ = epoch;
    }
    const auto accumulated = static_cast<size_t>(options_.gradient_accumulation_steps);
    const size_t first = static_cast<size_t>(step % epoch_steps_) * accumulated;
    std::vector<ModelBatch> batches;
    StepReport report;
    for (size_t i = first; i < std::min(first + accumulated, batches_.size()); ++i) {
      batches.push_back(make_model_batch(train_.features.rows, batches_[i], batch_rules_));
      report.tokens += batches.back().tokens();
    }
    report.learning_rate = schedule_.rate(step);
    HW_ASSIGN_OR_RETURN(const ModelStepResult result,
                        trainer_->step(batches, step, report.learning_rate, metrics_));
    if (!result.finite()) {
      const Feature& row = train_.features.rows[batches_[first].front()];
      return fail_hint(Code::kOutOfRange, "lower --learning-rate",
                       "step {}: the loss is {} and the gradient norm {}, on {}:{} and others",
                       step, result.loss, result.grad_norm, train_.data.path,
                       train_.data.examples[static_cast<size_t>(row.example)].line);
    }
    report.losses = {{"total_loss", "loss", result.loss}};
    report.grad_norm = result.grad_norm;
    return std::optional(report);
  }

  struct Judged {
    std::vector<Prediction> predictions;
    Judgement judgement;
  };

  // Thresholds are those of the last dev split; none when a signal stops it.
  Result<std::optional<Judged>> judge_split(const Split& split, const char* name, bool tunes) {
    HW_ASSIGN_OR_RETURN(
        const auto logits,
        compute_logits(*trainer_, objective_of(task_.kind), split.features, batch_rules_,
                       options_.eval_batch_size, fmt::format("judge {}", name)));
    if (!logits) return std::optional<Judged>();
    if (task_.kind == TaskKind::kMultiLabel && (tunes || predict_rules_.labels.empty()))
      set_thresholds(split, *logits);
    predict_rules_.labels = labels_;
    predict_rules_.max_answer_length = options_.task.max_answer_length;
    predict_rules_.null_score_difference = options_.task.null_score_difference;
    Judged judged;
    judged.predictions =
        predict_examples(task_, split.data, split.features, logits->rows, predict_rules_);
    judged.judgement = judge(task_, split.data, judged.predictions, labels_);
    judged.judgement.values.insert(judged.judgement.values.begin(), {"loss", logits->loss});
    if (tunes && task_.kind == TaskKind::kMultiLabel &&
        predict_rules_.thresholds.values.size() == 1)
      judged.judgement.values.emplace_back("threshold", predict_rules_.thresholds.values.front());
    return std::optional(std::move(judged));
  }

  void set_thresholds(const Split& split, const SplitLogits& logits) {
    std::vector<float> probabilities;
    LabelTable truth(batch_rules_.labels);
    for (size_t i = 0; i < logits.rows.size(); ++i) {
      const auto row = probabilities_of(task_.kind, logits.rows[i], batch_rules_.labels);
      probabilities.insert(probabilities.end(), row.begin(), row.end());
      std::vector<uint8_t> cells(labels_.size());
      for (const int32_t label : split.data.examples[i].labels)
        cells[static_cast<size_t>(label)] = 1;
      truth.add(cells);
    }
    predict_rules_.thresholds =
        tune_thresholds(task_.threshold, options_.task.threshold.value_or(0.5),
                        options_.task.inclusive(), probabilities, truth);
  }

  Result<> evaluate(int64_t done) {
    HW_ASSIGN_OR_RETURN(const auto judged, judge_split(dev_, "dev", /*tunes=*/true));
    if (!judged) return {};
    const Judgement& judgement = judged->judgement;
    HW_RETURN_IF_ERROR(reporter_->report_split(done, "dev", judgement.values));
    if (done == 0) return {};  // a fresh head is no candidate
    for (const std::string& note : judgement.notes) {
      if (note.starts_with("warning")) reporter_->say(note);
    }
    const std::string& name = options_.metric_for_best_model;
    const double value = find_metric(judgement.values, name).value_or(kUndefined);
    const double sign = is_loss(name) ? -1 : 1;
    const bool better =
        best_step_ < 0 || sign * value > sign * best_value_ + options_.early_stopping_threshold;
    if (!better) {
      ++worse_;
      return {};
    }
    best_value_ = value;
    best_step_ = done;
    worse_ = 0;
    return options_.load_best_model_at_end ? save(output(kBestDirectory), done) : Result<>();
  }

  std::optional<std::string> enough() const {
    if (options_.early_stopping_patience == 0 || worse_ < options_.early_stopping_patience)
      return std::nullopt;
    return fmt::format("no better {} in {} evaluations", options_.metric_for_best_model, worse_);
  }

  double seconds() const {
    return seconds_before_ + std::chrono::duration<double>(Clock::now() - begun_).count();
  }

  Result<> save(const std::string& directory, int64_t done) {
    HW_ASSIGN_OR_RETURN(TrainState state, trainer_->state(done));
    Json meta = {{"version", HW_VERSION},
                 {"verb", "finetune"},
                 {"options", fields_.to_json()},
                 {"data", data_digests()},
                 {"model", source_->model.to_hf_json()},
                 {"seconds", seconds()},
                 {"evaluations_without_gain", worse_}};
    if (best_step_ >= 0) {
      meta["best_value"] = std::isfinite(best_value_) ? Json(best_value_) : Json(nullptr);
      meta["best_step"] = best_step_;
    }
    state.meta = dump_json(meta);
    saved_step_ = done;
    HW_RETURN_IF_ERROR(save_checkpoint(fs_, directory, state, /*keep=*/1));
    return {};
  }

  // The model that is kept, judged once more, and what the run leaves behind.
  Result<> finish() {
    int64_t step = saved_step_ >= 0 ? saved_step_ : first_;
    if (best_step_ >= 0 && options_.load_best_model_at_end) {
      HW_ASSIGN_OR_RETURN(const CheckpointPlace best,
                          latest_checkpoint(fs_, output(kBestDirectory)));
      HW_ASSIGN_OR_RETURN(const TrainState state, load_checkpoint(fs_, best.path));
      HW_RETURN_IF_ERROR(trainer_->load(state, /*with_slots=*/true, best.path));
      step = best_step_;
    }
    Json results = {{"task", task_.name},          {"problem_type", problem_name(task_.kind)},
                    {"labels", labels_},           {"splits", Json::object()},
                    {"per_label", Json::object()}, {"confusion", Json::object()}};
    bool interrupted = false;
    for (const auto& [name, split] : {std::pair("dev", &dev_), std::pair("test", &test_)}) {
      if (split->data.examples.empty()) continue;
      HW_ASSIGN_OR_RETURN(const bool done, finish_split(name, *split, step, results));
      interrupted = interrupted || !done;
    }
    if (interrupted) return fail(Code::kCancelled, "stopped before the end; go on with --resume");
    HW_RETURN_IF_ERROR(export_result(step));
    results["seed"] = options_.seed;
    results["best_step"] = step;
    results["steps"] = std::max(saved_step_, first_);
    results["seconds"] = seconds();
    if (task_.kind == TaskKind::kMultiLabel) {
      results["thresholds"] = {
          {"rule", threshold_rule_names()[static_cast<size_t>(task_.threshold)]},
          {"values", predict_rules_.thresholds.values},
          {"at_threshold", options_.task.at_threshold}};
    }
    HW_RETURN_IF_ERROR(
        write_file_atomic(fs_, output("results.json"), dump_json(results, 1) + "\n"));
    return options_.keep_checkpoints ? Result<>() : remove_checkpoints();
  }

  Result<bool> finish_split(const char* name, const Split& split, int64_t step, Json& results) {
    const bool is_dev = &split == &dev_;
    HW_ASSIGN_OR_RETURN(const auto judged, judge_split(split, name, is_dev));
    if (!judged) return false;
    if (!is_dev) {
      HW_RETURN_IF_ERROR(reporter_->report_split(step, name, judged->judgement.values));
      for (const std::string& note : judged->judgement.notes) reporter_->say(note);
    }
    results["splits"][name] = to_json(judged->judgement.values);
    const Judgement& judgement = judged->judgement;
    results["per_label"][name] = per_label_json(judgement.counts, judgement.counted);
    if (!judgement.confusion.empty()) results["confusion"][name] = judgement.confusion;
    std::string lines;
    for (size_t i = 0; i < judged->predictions.size(); ++i) {
      lines += dump_json(prediction_record(task_, split.data.examples[i], static_cast<int64_t>(i),
                                           judged->predictions[i]));
      lines += '\n';
    }
    HW_RETURN_IF_ERROR(write_file_atomic(fs_, output("predictions.jsonl"), lines));
    return true;
  }

  Result<> export_result(int64_t step) {
    HW_ASSIGN_OR_RETURN(const TrainState state, trainer_->state(step));
    Model model = source_->model;
    SavedTask saved{task_.name, std::nullopt, rules_.max_length, task_.pair_column};
    if (task_.kind == TaskKind::kMultiLabel) saved.thresholds = predict_rules_.thresholds;
    saved.put_into(model);
    HW_ASSIGN_OR_RETURN(auto files, tokenizer_files(fs_, *tokenizer_, model));
    const HfModelExport request{.state = &state,
                                .model = std::move(model),
                                .averaged = options_.steps.ema_decay > 0,
                                .files = std::move(files),
                                .overwrite = true};
    HW_ASSIGN_OR_RETURN(const ExportedNetwork exported,
                        export_model(fs_, request, output("model")));
    reporter_->say(fmt::format("model of step {}: {}", step, exported.directory));
    return {};
  }

  // Three times the model's size, and of no use when the run is done.
  Result<> remove_checkpoints() {
    for (const std::string& directory : {options_.output_dir, output(kBestDirectory)}) {
      const auto places = list_checkpoints(fs_, directory);
      if (!places) continue;
      for (const CheckpointPlace& place : *places) {
        HW_ASSIGN_OR_RETURN(const auto files, fs_.list(place.path));
        for (const FileInfo& file : files) HW_RETURN_IF_ERROR(fs_.remove(file.path));
        HW_RETURN_IF_ERROR(fs_.remove(place.path));
      }
    }
    return fs_.exists(output(kBestDirectory)) ? fs_.remove(output(kBestDirectory)) : Result<>();
  }

  static constexpr int64_t kPrograms = 16;  // compiled graphs, one per width of batches

  const FinetuneOptions& options_;
  const Fields& fields_;
  FileSystem& fs_;
  Clock::time_point begun_;
  StopSignal signals_;
  Task task_;
  std::optional<ModelSource> source_;
  std::optional<TaskTokenizer> tokenizer_;
  EncodeRules rules_;
  std::vector<std::string> labels_;
  Split train_, dev_, test_;
  BatchRules batch_rules_;
  PredictRules predict_rules_;
  std::unique_ptr<ModelTrainer> trainer_;
  std::unique_ptr<RunReporter> reporter_;
  ModelMetrics metrics_;
  Schedule schedule_;
  int64_t first_ = 0, final_ = 0, epoch_steps_ = 1;
  bool resumed_ = false;
  double seconds_before_ = 0;
  int64_t epoch_ = -1;  // of batches_
  std::vector<std::vector<size_t>> batches_;
  double best_value_ = 0;
  int64_t best_step_ = -1;  // none
  int64_t worse_ = 0;       // evaluations since
  int64_t saved_step_ = -1;
};

}  // namespace

Result<int> run_finetuning(const FinetuneOptions& options, const Fields& fields) {
  set_num_threads(static_cast<int>(options.threads));
  return FinetuneRun(options, fields).run();
}

}  // namespace headwater
