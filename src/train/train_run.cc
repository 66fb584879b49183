#include "train/train_run.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/checked.h"
#include "base/log.h"
#include "base/stop_signal.h"
#include "base/threads.h"
#include "batches/data_fingerprint.h"
#include "checkpoints/native.h"
#include "generate/text.h"
#include "train/model_inputs.h"
#include "train/ngram_baseline.h"
#include "train/run_inputs.h"
#include "train/train_loop.h"

namespace headwater {
namespace {

constexpr int64_t kAllBatches = std::numeric_limits<int64_t>::max();

class TrainRun {
 public:
  TrainRun(const TrainOptions& options, const Fields& fields)
      : options_(options), fields_(fields), fs_(local_files()) {}

  Result<int> run() {
    HW_ASSIGN_OR_RETURN(inputs_, ModelInputFiles::open(fs_, options_));
    HW_RETURN_IF_ERROR(open_trainer());
    HW_RETURN_IF_ERROR(find_start());
    HW_RETURN_IF_ERROR(open_data());
    HW_RETURN_IF_ERROR(open_evaluation());
    HW_RETURN_IF_ERROR(plan_steps());
    HW_RETURN_IF_ERROR(open_directory());
    describe_run();
    HW_RETURN_IF_ERROR(report_baseline());
    Result<int> code = train();
    if (code && best_step_ >= 0 && options_.early_stopping_patience > 0) {
      reporter_->say(fmt::format("best: loss {:.4g} after step {}, {}", best_loss_, best_step_,
                                 best_directory()));
    }
    HW_RETURN_IF_ERROR(reporter_->close());
    return code;
  }

 private:
  Result<> open_trainer() {
    ModelTrainerOptions trainer;
    trainer.model = {.model = inputs_->source.model,
                     .objective = inputs_->source.objective,
                     .label_smoothing = options_.label_smoothing,
                     .frozen = options_.freeze};
    trainer.optimizer = options_.optimizer_options();
    trainer.gradient_sync = gradient_sync_of(options_.gradient_sync);
    trainer.accumulation_steps = options_.gradient_accumulation_steps;
    trainer.seed = static_cast<uint64_t>(options_.seed);
    HW_ASSIGN_OR_RETURN(auto executor, options_.device.open());
    HW_RETURN_IF_ERROR(per_replica_batch(options_.batch_size, executor->num_replicas()));
    if (options_.evaluates())
      HW_RETURN_IF_ERROR(per_replica_batch(eval_batch_size(), executor->num_replicas()));
    HW_ASSIGN_OR_RETURN(trainer_, ModelTrainer::create(trainer, std::move(executor)));
    const ModelStepOptions& model = trainer.model;
    metrics_ = epoch_metrics_ = ModelMetrics(model.objective);
    return {};
  }

  // Fresh weights, those of a model, or the run that --resume continues.
  Result<> find_start() {
    const auto latest = latest_checkpoint(fs_, options_.output_dir);
    if (!latest && latest.error().code != Code::kNotFound) return in_context(latest.error(), "run");
    if (options_.resume) return resume(latest);
    if (latest) {
      return fail_hint(
          Code::kAlreadyExists, "continue it with --resume, or name another --output-dir",
          "{} holds a run that has reached step {}", options_.output_dir, latest->step);
    }
    const ModelSource& source = inputs_->source;
    for (const std::string& note : source.notes) log_info("note: {}", note);
    origin_ = source.origin;
    if (!source.weights) return trainer_->initialize();
    HW_ASSIGN_OR_RETURN(const TrainState state, source.weights->state());
    HW_ASSIGN_OR_RETURN(const FitReport fit, trainer_->load_fitting(state, /*with_slots=*/false));
    HW_RETURN_IF_ERROR(check_model_fit(source, fit));
    start_report_ = fit.to_string();
    log_info("{}: {}", source.weights->path(), start_report_);
    return {};
  }

  Result<> resume(const Result<CheckpointPlace>& latest) {
    if (!latest) {
      return fail_hint(Code::kNotFound, "start it without --resume",
                       "there is no run to resume in {}", options_.output_dir);
    }
    HW_ASSIGN_OR_RETURN(const TrainState state, load_checkpoint(fs_, latest->path));
    HW_RETURN_IF_ERROR(trainer_->load(state, /*with_slots=*/true, latest->path));
    HW_ASSIGN_OR_RETURN(saved_meta_, parse_json(state.meta, latest->path));
    first_ = state.step;
    origin_ = fmt::format("resumed from {}", latest->path);
    start_report_ = saved_text(*saved_meta_, "start_report");
    const auto cursor = saved_meta_->find("cursor");
    if (cursor == saved_meta_->end()) {
      return fail(Code::kInvalidArgument, "{} is no checkpoint of `headwater train`", latest->path);
    }
    HW_ASSIGN_OR_RETURN(cursor_, state_from_json(*cursor));
    if (const auto sums = saved_meta_->find("epoch_sums"); sums != saved_meta_->end()) {
      HW_RETURN_IF_ERROR(epoch_metrics_.set_sums(*sums));
    }
    epoch_cut_ = saved_number(*saved_meta_, "epoch_cut");
    if (const auto best = saved_meta_->find("best_loss");
        best != saved_meta_->end() && best->is_number()) {
      best_loss_ = best->get<double>();
      best_step_ = saved_number(*saved_meta_, "best_step");
      worse_ = saved_number(*saved_meta_, "evaluations_without_gain");
    }
    for (const std::string& line : changed_options(*saved_meta_, fields_)) log_line_warning(line);
    return {};
  }

  Result<BatchPipelineOptions> training_pipeline() const {
    HW_ASSIGN_OR_RETURN(BatchPipelineOptions pipeline, inputs_->pipeline(options_));
    pipeline.split = Split::kTrain;
    pipeline.held_out_fraction = options_.eval_fraction;
    pipeline.cache_file = join_path(options_.output_dir, "records-cache.json");
    return pipeline;
  }

  Result<> open_data() {
    HW_ASSIGN_OR_RETURN(const ModelBatchRules rules, inputs_->batch_rules(options_, false));
    HW_ASSIGN_OR_RETURN(maker_, ModelBatchMaker::create(inputs_->features, options_.pack, rules));
    for (const std::string& name : maker_->unused())
      log_info("note: the feature {} is not used by this objective", name);
    HW_ASSIGN_OR_RETURN(BatchPipelineOptions pipeline, training_pipeline());
    if (saved_meta_) pipeline.start = cursor_;
    HW_ASSIGN_OR_RETURN(data_, BatchPipeline::open(fs_, pipeline));
    if (saved_meta_ && saved_meta_->contains("data"))
      HW_RETURN_IF_ERROR(check_same_data(saved_meta_->at("data"), data_->fingerprint()));
    examples_ = data_->stats().examples;
    return {};
  }

  int64_t eval_batch_size() const {
    return options_.eval_batch_size > 0 ? options_.eval_batch_size : options_.batch_size;
  }

  Result<std::unique_ptr<BatchPipeline>> open_eval_pipeline() {
    HW_ASSIGN_OR_RETURN(BatchPipelineOptions pipeline, inputs_->pipeline(options_));
    pipeline.order = BatchOrder::kSequential;
    pipeline.remainder = Remainder::kKeep;
    pipeline.shards = 1, pipeline.shard = 0;
    pipeline.epochs = 1;
    pipeline.batch_size = eval_batch_size();
    pipeline.split = Split::kHeldOut;
    pipeline.held_out_fraction = options_.eval_fraction;
    if (!options_.eval_records.empty()) {
      pipeline.records = options_.eval_records;
      pipeline.cache_file = join_path(options_.output_dir, "eval-records-cache.json");
    }
    HW_ASSIGN_OR_RETURN(auto opened, BatchPipeline::open(fs_, pipeline, eval_set_));
    eval_set_ = opened->record_set();
    return opened;
  }

  Result<> open_evaluation() {
    if (!options_.evaluates()) return {};
    HW_ASSIGN_OR_RETURN(const ModelBatchRules rules, inputs_->batch_rules(options_, true));
    HW_ASSIGN_OR_RETURN(eval_maker_,
                        ModelBatchMaker::create(inputs_->features, options_.pack, rules));
    if (options_.eval_records.empty()) eval_set_ = data_->record_set();
    HW_ASSIGN_OR_RETURN(const auto pipeline, open_eval_pipeline());  // errors come before training
    return {};
  }

  // Batches of all epochs. How many rows packed documents fill shows when they are packed.
  Result<int64_t> count_batches() {
    const BatchPipelineStats stats = data_->stats();
    const int64_t epochs = *options_.num_train_epochs;
    if (!stats.steps_are_a_bound) {
      if (options_.remainder == "span")
        return ceil_div(stats.examples * epochs, options_.batch_size);
      return stats.steps_per_epoch * epochs;
    }
    HW_ASSIGN_OR_RETURN(const BatchPipelineOptions pipeline, training_pipeline());
    HW_ASSIGN_OR_RETURN(const auto counted,
                        BatchPipeline::open(fs_, pipeline, data_->record_set()));
    Progress progress("count packed batches", stats.steps_per_epoch * epochs, "batches");
    int64_t batches = 0;
    while (true) {
      HW_ASSIGN_OR_RETURN(const std::optional<Batch> batch, counted->next());
      if (!batch || StopSignal::requested()) return batches;
      progress.update(++batches);
    }
  }

  Result<> plan_steps() {
    const int64_t accumulated = options_.gradient_accumulation_steps;
    int64_t steps = options_.max_steps.value_or(std::numeric_limits<int64_t>::max());
    int64_t per_epoch = data_->stats().steps_per_epoch;  // batches
    if (options_.num_train_epochs) {
      HW_ASSIGN_OR_RETURN(const int64_t batches, count_batches());
      steps = std::min(steps, ceil_div(batches, accumulated));
      per_epoch = ceil_div(batches, *options_.num_train_epochs);
    }
    final_ = steps;
    schedule_ = options_.schedule(final_);
    epoch_steps_ = std::max<int64_t>(1, ceil_div(per_epoch, accumulated));
    if (first_ < final_) return {};
    return fail_hint(Code::kFailedPrecondition, "raise --max-steps or --epochs to go on",
                     "the run in {} is complete: it has reached step {}, and ends at step {}",
                     options_.output_dir, first_, final_);
  }

  Result<> open_directory() {
    HW_RETURN_IF_ERROR(fs_.make_directories(options_.output_dir));
    // The folder is there from now on.
    data_->record_set()->write_cache();
    if (!options_.eval_records.empty() && eval_set_) eval_set_->write_cache();
    std::optional<int64_t> resume_step;
    if (saved_meta_) resume_step = first_;
    HW_RETURN_IF_ERROR(write_file_atomic(fs_, join_path(options_.output_dir, "run.json"),
                                         dump_json(meta(), 2) + "\n"));
    if (inputs_->tokenizer) {
      HW_RETURN_IF_ERROR(copy_tokenizer_files(fs_, inputs_->tokenizer_path, options_.output_dir));
    }
    HW_ASSIGN_OR_RETURN(reporter_, RunReporter::open(fs_, options_.output_dir, "train", first_,
                                                     final_, resume_step));
    return {};
  }

  // What a checkpoint knows besides its tensors.
  Json meta() const {
    Json meta = {{"version", HW_VERSION},
                 {"start_report", start_report_},
                 {"options", fields_.to_json()},
                 {"data", data_->fingerprint()},
                 {"model", inputs_->source.model.to_hf_json()},
                 {"objective", objective_name(inputs_->source.objective)},
                 {"cursor", state_to_json(cursor_)},
                 {"epoch_sums", epoch_metrics_.sums()},
                 {"epoch_cut", epoch_cut_}};
    if (best_step_ >= 0) {
      meta["best_loss"] = best_loss_;
      meta["best_step"] = best_step_;
      meta["evaluations_without_gain"] = worse_;
    }
    if (inputs_->tokenizer) meta["vocabulary"]["sha256"] = inputs_->tokenizer->digest();
    return meta;
  }

  void describe_run() {
    const BatchPipelineStats stats = data_->stats();
    const int64_t rows = options_.batch_size * options_.gradient_accumulation_steps;
    reporter_->say(fmt::format("model     {}, {} parameters, objective {}", origin_,
                               trainer_->parameter_count(),
                               objective_name(inputs_->source.objective)));
    reporter_->say(fmt::format("records   {} examples, {} tokens in {} shards: {}", stats.examples,
                               stats.tokens, stats.shards, feature_specs_text(inputs_->features)));
    reporter_->say(
        fmt::format("epoch     {}{} steps of {} rows, {}, order {} (buffer {:.1f} MB)",
                    stats.steps_are_a_bound ? "at least " : "", epoch_steps_, rows,
                    options_.pack ? "packed" : fmt::format("padded to {}", options_.pad_to),
                    options_.order, static_cast<double>(stats.buffer_bytes) / 1e6));
    reporter_->say(
        fmt::format("optimizer {}, rate {}", options_.optimizer, schedule_.text(first_)));
    reporter_->say(fmt::format("steps     {} to {}, {} threads", first_, final_, num_threads()));
  }

  // A trigram model of the training records, judged on those of the evaluation.
  Result<> report_baseline() {
    const int64_t vocab_size = inputs_->source.model.vocab_size();
    if (!options_.evaluates() || saved_meta_ || inputs_->source.objective != Objective::kClm ||
        vocab_size >= NgramBaseline::kMostIds)
      return {};
    NgramBaseline baseline(vocab_size);
    HW_ASSIGN_OR_RETURN(BatchPipelineOptions pipeline, training_pipeline());
    pipeline.order = BatchOrder::kSequential;
    pipeline.remainder = Remainder::kKeep;
    pipeline.epochs = 1;
    HW_ASSIGN_OR_RETURN(const auto counted,
                        BatchPipeline::open(fs_, pipeline, data_->record_set()));
    HW_RETURN_IF_ERROR(for_each_document(*counted, "count trigrams", kAllBatches, [&](auto row) {
      baseline.count(row);
      return !baseline.full();
    }));
    HW_ASSIGN_OR_RETURN(const auto judged, open_eval_pipeline());
    HW_RETURN_IF_ERROR(for_each_document(*judged, "judge trigrams", eval_limit(), [&](auto row) {
      baseline.judge(row);
      return true;
    }));
    if (baseline.judged() == 0 || StopSignal::requested()) return {};
    return reporter_->report_split(
        first_, "baseline",
        {{"trigram_loss", baseline.loss()}, {"trigram_perplexity", std::exp(baseline.loss())}});
  }

  // Calls use(tokens) for what stands together in the rows of `limit` batches, until it returns
  // false.
  template <class Use>
  Result<> for_each_document(BatchPipeline& pipeline, const char* what, int64_t limit, Use use) {
    Progress progress(what, std::min(limit, pipeline.stats().steps_per_epoch), "batches");
    for (int64_t done = 0; done < limit && !StopSignal::requested(); progress.update(++done)) {
      HW_ASSIGN_OR_RETURN(const std::optional<Batch> source, pipeline.next());
      if (!source) return {};
      HW_ASSIGN_OR_RETURN(const ModelBatch batch, maker_->make(*source));
      for (const auto& document : documents_of(batch)) {
        if (!use(document)) return {};
      }
    }
    return {};
  }

  Result<int> train() {
    const int64_t eval_steps = options_.eval_steps > 0 ? options_.eval_steps : epoch_steps_;
    const LoopOptions loop{.first_step = first_,
                           .final_step = final_,
                           .log_steps = options_.log_steps,
                           .save_steps = options_.save_steps,
                           .eval_steps = options_.evaluates() ? eval_steps : 0,
                           .evaluates_first = !saved_meta_,
                           .directory = options_.output_dir};
    LoopParts parts;
    parts.train = [this](int64_t step) { return train_one(step); };
    parts.take_metrics = [this] {
      MetricValues values = metrics_.values();
      metrics_.reset();
      return values;
    };
    parts.evaluate = [this](int64_t done) { return evaluate(done); };
    parts.enough = [this] { return enough(); };
    parts.save = [this](int64_t done) { return save(options_.output_dir, done); };
    return run_train_loop(loop, parts, *reporter_);
  }

  Result<std::optional<StepReport>> train_one(int64_t step) {
    std::vector<ModelBatch> batches;
    std::vector<Batch> sources;
    StepReport report;
    while (static_cast<int64_t>(batches.size()) < options_.gradient_accumulation_steps) {
      HW_ASSIGN_OR_RETURN(std::optional<Batch> source, data_->next());
      if (!source) break;
      HW_ASSIGN_OR_RETURN(ModelBatch batch, maker_->make(*source));
      epoch_cut_ += source->cut;
      report.tokens += batch.tokens();
      batches.push_back(std::move(batch));
      sources.push_back(*std::move(source));
    }
    if (batches.empty()) return std::optional<StepReport>();
    report.learning_rate = schedule_.rate(step);
    ModelMetrics step_metrics(inputs_->source.objective);
    const auto result = trainer_->step(batches, step, report.learning_rate, step_metrics);
    if (!result) return in_context(result.error(), provenance(sources));
    if (!result->finite()) HW_RETURN_IF_ERROR(diverged(step, *result, sources));
    metrics_.add(step_metrics);
    epoch_metrics_.add(step_metrics);
    report.losses = {{"total_loss", "loss", result->loss}};
    report.grad_norm = result->grad_norm;
    report.waited = data_->stats().data_wait_seconds;
    HW_RETURN_IF_ERROR(finish_epoch(step + 1, sources.back().next));
    return std::optional(report);
  }

  // Where the data have come to; at the end of an epoch its means are reported.
  Result<> finish_epoch(int64_t done, const PipelineState& next) {
    const int64_t before = cursor_.position / examples_, now = next.position / examples_;
    cursor_ = next;
    if (now == before) return {};
    MetricValues values = {{"epoch", static_cast<double>(now)}};
    for (const auto& value : epoch_metrics_.values()) values.push_back(value);
    if (epoch_cut_ > 0) values.emplace_back("tokens_cut", static_cast<double>(epoch_cut_));
    epoch_metrics_.reset();
    epoch_cut_ = 0;
    return reporter_->report_split(done, "epoch", values);
  }

  static std::string provenance(const std::vector<Batch>& batches) {
    std::string text;
    for (const Batch& batch : batches)
      text.append(text.empty() ? "" : "; ").append(batch.provenance());
    return text;
  }

  Result<> diverged(int64_t step, const ModelStepResult& result,
                    const std::vector<Batch>& batches) const {
    const auto latest = latest_checkpoint(fs_, options_.output_dir);
    return fail_hint(
        Code::kOutOfRange,
        fmt::format("lower --learning-rate or look at the records; the last good checkpoint is {}",
                    latest ? latest->path : "none"),
        "step {}: the loss is {} and the gradient norm {}, trained on {}", step, result.loss,
        result.grad_norm, provenance(batches));
  }

  Result<> evaluate(int64_t done) {
    HW_ASSIGN_OR_RETURN(const auto pipeline, open_eval_pipeline());
    const int64_t limit =
        options_.num_eval_steps > 0 ? options_.num_eval_steps : std::numeric_limits<int64_t>::max();
    ModelMetrics metrics(inputs_->source.objective);
    Progress progress("evaluate", std::min(limit, pipeline->stats().steps_per_epoch), "batches");
    for (int64_t i = 0; i < limit; ++i) {
      if (StopSignal::requested()) return {};  // half an evaluation would mislead
      HW_ASSIGN_OR_RETURN(const std::optional<Batch> batch, pipeline->next());
      if (!batch) break;
      HW_ASSIGN_OR_RETURN(const ModelBatch made, eval_maker_->make(*batch));
      HW_RETURN_IF_ERROR(trainer_->evaluate(made, metrics));
      progress.update(i + 1);
    }
    progress.finish();
    const MetricValues values = metrics.values();
    HW_RETURN_IF_ERROR(reporter_->report_split(done, "eval", values));
    HW_RETURN_IF_ERROR(sample(done));
    return options_.early_stopping_patience > 0 ? compare_with_best(done, values) : Result<>();
  }

  // What a causal model writes by now: the same draws after every evaluation.
  Result<> sample(int64_t done) {
    if (inputs_->source.objective != Objective::kClm || !inputs_->tokenizer ||
        options_.sample_tokens == 0)
      return {};
    const AnyTokenizer& tokenizer = *inputs_->tokenizer;
    if (!generator_) {
      GeneratorOptions options;
      if (options_.ema_decay > 0) options.state_suffix = ema_name("");
      HW_ASSIGN_OR_RETURN(generator_, Generator::create(inputs_->source.model, trainer_->executor(),
                                                        trainer_->store(), options));
    }
    GenerateOptions options;
    options.sampling.temperature = options_.sample_temperature;
    options.max_new_tokens = options_.sample_tokens;
    const std::optional<int32_t> end = tokenizer.end_of_text();
    if (end) options.stop_tokens = {*end};
    std::vector<std::string> prompts = options_.sample_prompts;
    if (prompts.empty() && end) prompts.emplace_back();
    const Key key = Key::from_seed(static_cast<uint64_t>(options_.seed)).fold_in("samples");
    for (size_t i = 0; i < prompts.size(); ++i) {
      HW_ASSIGN_OR_RETURN(const std::vector<int32_t> ids, prompt_ids(tokenizer, prompts[i], end));
      HW_ASSIGN_OR_RETURN(const GeneratedTexts generated,
                          generate_text(*generator_, tokenizer, ids, options,
                                        key.fold_in(static_cast<uint32_t>(i))));
      reporter_->say(fmt::format("step {}  sample: {}", done,
                                 one_line(prompts[i] + generated.texts.front().text)));
    }
    return {};
  }

  static std::string one_line(std::string text) {
    std::ranges::replace_if(
        text, [](char c) { return c == '\n' || c == '\r'; }, ' ');
    return text;
  }

  Result<> compare_with_best(int64_t done, const MetricValues& values) {
    const auto loss = std::ranges::find(values, "loss", [](const auto& v) { return v.first; });
    if (loss == values.end()) return {};
    if (best_step_ >= 0 && loss->second >= best_loss_ - options_.early_stopping_threshold) {
      ++worse_;
      return {};
    }
    best_loss_ = loss->second;
    best_step_ = done;
    worse_ = 0;
    return save(best_directory(), done);
  }

  int64_t eval_limit() const {  // batches of an evaluation
    return options_.num_eval_steps > 0 ? options_.num_eval_steps : kAllBatches;
  }

  std::string best_directory() const { return join_path(options_.output_dir, kBestDirectory); }

  std::optional<std::string> enough() const {
    if (options_.early_stopping_patience == 0 || worse_ < options_.early_stopping_patience)
      return std::nullopt;
    return fmt::format("no better loss in {} evaluations", worse_);
  }

  Result<> save(const std::string& directory, int64_t done) {
    HW_ASSIGN_OR_RETURN(TrainState state, trainer_->state(done));
    state.meta = dump_json(meta());
    const int64_t keep =
        directory == options_.output_dir ? options_.keep_checkpoint_max.value_or(0) : 1;
    HW_RETURN_IF_ERROR(save_checkpoint(fs_, directory, state, keep));
    return {};
  }

  const TrainOptions& options_;
  const Fields& fields_;
  FileSystem& fs_;
  StopSignal signals_;
  std::optional<ModelInputFiles> inputs_;
  std::unique_ptr<ModelTrainer> trainer_;
  std::optional<ModelBatchMaker> maker_, eval_maker_;
  std::unique_ptr<BatchPipeline> data_;
  std::shared_ptr<const RecordSet> eval_set_;
  std::unique_ptr<Generator> generator_;  // of samples, on the trainer's weights
  std::unique_ptr<RunReporter> reporter_;
  std::optional<Json> saved_meta_;  // of the checkpoint that is resumed
  std::string origin_, start_report_;
  PipelineState cursor_;     // of the next batch
  int64_t examples_ = 1;     // of an epoch
  int64_t epoch_steps_ = 1;  // about, where batches span epochs
  int64_t first_ = 0, final_ = 0;
  Schedule schedule_;
  ModelMetrics metrics_, epoch_metrics_;  // since the last report, of this epoch
  int64_t epoch_cut_ = 0;                 // tokens of this epoch that --truncate left out
  double best_loss_ = 0;
  int64_t best_step_ = -1;  // none
  int64_t worse_ = 0;       // evaluations since
};

}  // namespace

Result<int> run_training(const TrainOptions& options, const Fields& fields) {
  set_num_threads(static_cast<int>(options.threads));
  return TrainRun(options, fields).run();
}

}  // namespace headwater
