#include "train/pretrain_run.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "base/stop_signal.h"
#include "base/threads.h"
#include "batches/batch_pipeline.h"
#include "checkpoints/export_meta.h"
#include "checkpoints/native.h"
#include "tokens/vocabulary.h"
#include "train/baselines.h"
#include "train/run_inputs.h"
#include "train/run_reporter.h"
#include "train/schedule.h"
#include "train/start_weights.h"
#include "train/train_loop.h"

namespace headwater {
namespace {

// The training of a missing generator is a run of its own before the run.
struct GeneratorPhase {
  int64_t source_step = 0;  // that the checkpoint with the discriminator had reached
};

class PretrainRun {
 public:
  PretrainRun(const PretrainOptions& options, const Fields& fields,
              std::optional<GeneratorPhase> phase = std::nullopt)
      : options_(options), fields_(fields), phase_(phase), fs_(local_files()) {}

  Result<int> run() {
    HW_RETURN_IF_ERROR(open_inputs());
    HW_RETURN_IF_ERROR(open_trainer());
    HW_RETURN_IF_ERROR(find_start());
    if (stopped_ != 0) return stopped_;
    HW_RETURN_IF_ERROR(open_data());
    HW_RETURN_IF_ERROR(open_directory());
    describe_run();
    HW_RETURN_IF_ERROR(report_baselines());
    Result<int> code = train();
    HW_RETURN_IF_ERROR(reporter_->close());
    return code;
  }

 private:
  Result<> open_inputs() {
    if (!phase_) {
      for (const std::string& note : options_.notes(fields_)) log_info("note: {}", note);
    }
    HW_ASSIGN_OR_RETURN(inputs_, RunInputs::open(fs_, options_));
    return {};
  }

  Result<> open_trainer() {
    TrainerOptions trainer = trainer_options(options_, inputs_->configs);
    trainer.freeze_tables = phase_.has_value();
    HW_ASSIGN_OR_RETURN(auto executor, options_.device.open());
    HW_RETURN_IF_ERROR(per_replica_batch(options_.train_batch_size, executor->num_replicas()));
    if (evaluates())
      HW_RETURN_IF_ERROR(per_replica_batch(options_.eval_batch_size, executor->num_replicas()));
    HW_ASSIGN_OR_RETURN(trainer_, Trainer::create(trainer, std::move(executor)));
    return {};
  }

  // Fresh weights, those of --init-checkpoint, or the run that --resume continues.
  Result<> find_start() {
    const auto latest = latest_checkpoint(fs_, options_.output_dir);
    if (!latest && latest.error().code != Code::kNotFound) return in_context(latest.error(), "run");
    if (options_.resume && !latest && !phase_) {
      if (latest_checkpoint(fs_, options_.generator_phase({}, 0).output_dir))
        return after_generator_phase(/*resume=*/true, 0);
    }
    if (options_.resume) return resume(latest);
    if (latest) {
      return fail_hint(
          Code::kAlreadyExists, "continue it with --resume, or name another --output-dir",
          "{} holds a run that has reached step {}", options_.output_dir, latest->step);
    }
    if (options_.init_checkpoint.empty()) {
      HW_RETURN_IF_ERROR(trainer_->initialize());
      joins_ = options_.discriminator_joins(inputs_->configs);
      if (options_.discriminator_from_generator && options_.generator_warmup_steps > 0 && !joins_)
        log_info("note: discriminator_from_generator has no effect: the layers are not alike");
    } else {
      HW_RETURN_IF_ERROR(start_from_weights());
    }
    first_ = begin_;
    return make_schedule();
  }

  Result<> make_schedule() {
    HW_ASSIGN_OR_RETURN(schedule_, options_.schedule(begin_));
    if (slots_missing_) schedule_.restart = options_.restart(begin_);
    if (joins_) schedule_.restart = options_.restart_at_join();
    return {};
  }

  Result<> start_from_weights() {
    const std::string& path = options_.init_checkpoint;
    const bool one_encoder = !options_.electra_objective || !options_.untied_generator;
    HW_ASSIGN_OR_RETURN(StartWeights start,
                        read_start_weights(fs_, path, trainer_->parameters(), one_encoder));
    if (start.state.meta != "{}") HW_RETURN_IF_ERROR(check_same_vocabulary(start.state.meta, path));
    if (start.generator_missing && options_.missing_generator != "train" &&
        options_.missing_generator != "random") {
      HW_RETURN_IF_ERROR(add_generator(fs_, options_.missing_generator, start));
    }
    HW_ASSIGN_OR_RETURN(const FitReport fit, trainer_->load_fitting(start.state, start.has_slots));
    // Half a network would be trained as if it were whole.
    const auto may_be_fresh = [&](const std::string& name) {
      return start.other_model || (start.generator_missing && name.starts_with("generator."));
    };
    if (!fit.mismatched.empty() || fit.matched == 0 ||
        !std::ranges::all_of(fit.missing, may_be_fresh)) {
      return fail_hint(
          Code::kFailedPrecondition,
          "give the sizes with which the checkpoint was trained, or another checkpoint",
          "{} does not fit the model: {}", path, fit.to_string());
    }
    HW_RETURN_IF_ERROR(check_settings(start, inputs_->configs));
    slots_missing_ = !start.has_slots;
    begin_ = options_.first_step(start.state.step);
    origin_ = fmt::format("{}, {}", start.origin,
                          start.has_slots ? "with Adam's moments" : "without Adam's moments");
    start_report_ = start_report(fit);
    for (const std::string& note : start.notes) log_info("note: {}", note);
    log_info("{}: {}", path, start_report_);
    if (!start.generator_missing || options_.missing_generator != "train") return {};
    log_info("note: {} has no generator: one is trained first (--missing-generator)", path);
    return after_generator_phase(/*resume=*/false, start.state.step);
  }

  // Trains the missing generator, or with `resume` goes on with it, and takes the result as the
  // start.
  Result<> after_generator_phase(bool resume, int64_t source_step) {
    const std::string directory = options_.generator_phase({}, 0).output_dir;
    bool trained = false;
    if (resume) {
      HW_ASSIGN_OR_RETURN(const Json meta, latest_meta(directory));
      source_step = saved_number(meta, "source_step");
      trained = saved_flag(meta, "generator_trained");
    }
    begin_ = options_.first_step(source_step);
    HW_ASSIGN_OR_RETURN(const Schedule schedule, options_.schedule(begin_));
    PretrainOptions options = options_.generator_phase(schedule, begin_);
    options.resume = resume;
    trainer_.reset();  // its memory
    if (!trained) {
      HW_ASSIGN_OR_RETURN(stopped_,
                          PretrainRun(options, fields_, GeneratorPhase{source_step}).run());
      if (stopped_ != 0) return {};
    }
    HW_ASSIGN_OR_RETURN(const CheckpointPlace place, latest_checkpoint(fs_, directory));
    HW_ASSIGN_OR_RETURN(const TrainState state, load_checkpoint(fs_, place.path, LoadSlots::kNo));
    HW_RETURN_IF_ERROR(open_trainer());
    HW_RETURN_IF_ERROR(trainer_->load(state, /*with_slots=*/false, place.path));
    slots_missing_ = true;
    origin_ += fmt::format(", generator trained in {}", place.path);
    first_ = begin_;
    return make_schedule();
  }

  Result<Json> latest_meta(const std::string& directory) const {
    HW_ASSIGN_OR_RETURN(const CheckpointPlace place, latest_checkpoint(fs_, directory));
    HW_ASSIGN_OR_RETURN(const CheckpointManifest manifest,
                        read_checkpoint_manifest(fs_, place.path));
    return parse_json(manifest.meta, place.path);
  }

  Result<> resume(const Result<CheckpointPlace>& latest) {
    if (!options_.init_checkpoint.empty()) {
      return fail_hint(Code::kInvalidArgument, "give one of the two",
                       "--resume continues this run, --init-checkpoint begins a new one");
    }
    if (!latest) {
      return fail_hint(Code::kNotFound, "start it without --resume",
                       "there is no run to resume in {}", options_.output_dir);
    }
    HW_ASSIGN_OR_RETURN(const TrainState state, load_checkpoint(fs_, latest->path));
    HW_RETURN_IF_ERROR(check_same_vocabulary(state.meta, latest->path));
    HW_RETURN_IF_ERROR(trainer_->load(state, /*with_slots=*/true, latest->path));
    HW_ASSIGN_OR_RETURN(saved_meta_, parse_json(state.meta, latest->path));
    resumed_ = true;
    first_ = state.step;
    if (const auto losses = saved_meta_->find("heldout_losses"); losses != saved_meta_->end()) {
      for (const Json& loss : *losses) {
        if (loss.is_number()) heldout_losses_.push_back(loss.get<double>());
      }
    }
    if (phase_) phase_->source_step = saved_number(*saved_meta_, "source_step");
    begin_ = saved_number(*saved_meta_, "start_step");
    origin_ = fmt::format("resumed from {}", latest->path);
    slots_missing_ = saved_flag(*saved_meta_, "slots_missing");
    joins_ = saved_flag(*saved_meta_, "discriminator_joins");
    start_report_ = saved_text(*saved_meta_, "start_report");
    HW_RETURN_IF_ERROR(make_schedule());
    if (schedule_.total_steps <= first_) {
      return fail_hint(Code::kFailedPrecondition, "raise --num-train-steps to go on",
                       "the run in {} is complete: it has reached step {}, and ends at step {}",
                       options_.output_dir, first_, schedule_.total_steps);
    }
    for (const std::string& line : changed_options(*saved_meta_, fields_)) log_line_warning(line);
    return {};
  }

  Result<> check_same_vocabulary(const std::string& meta, const std::string& where) const {
    HW_ASSIGN_OR_RETURN(const ExportMeta saved, get_export_meta(meta, where));
    if (saved.vocabulary_digest.empty() ||
        saved.vocabulary_digest == inputs_->vocabulary.digest()) {
      return {};
    }
    return fail_hint(Code::kFailedPrecondition, "use the vocabulary it was trained with",
                     "{} is not the vocabulary of {}", options_.vocab_file, where);
  }

  Result<> open_data() {
    PipelineOptions pipeline = pipeline_options(options_, inputs_->configs);
    pipeline.start_step = first_ * options_.gradient_accumulation_steps;
    pipeline.cache_file = join_path(options_.output_dir, "records-cache.json");
    HW_ASSIGN_OR_RETURN(data_, PretrainPipeline::open(fs_, pipeline, inputs_->specials));
    if (saved_meta_ && saved_meta_->contains("data")) {
      HW_RETURN_IF_ERROR(check_same_data(saved_meta_->at("data"), data_->fingerprint()));
    }
    return {};
  }

  bool evaluates() const { return options_.eval_steps > 0 && options_.eval_fraction > 0; }

  Result<std::unique_ptr<PretrainPipeline>> open_held_out() const {
    PipelineOptions pipeline = pipeline_options(options_, inputs_->configs);
    pipeline.mode = PipelineMode::kEvaluate;
    pipeline.batch_size = options_.eval_batch_size;
    return PretrainPipeline::open(fs_, pipeline, inputs_->specials, data_->record_set());
  }

  Result<> open_directory() {
    HW_RETURN_IF_ERROR(fs_.make_directories(options_.output_dir));
    // The folder is there from now on.
    data_->record_set()->write_cache();
    std::optional<int64_t> resume_step;
    if (resumed_) resume_step = first_;
    HW_RETURN_IF_ERROR(write_file_atomic(fs_, join_path(options_.output_dir, "run.json"),
                                         dump_json(meta(), 2) + "\n"));
    std::string tokens;
    for (const std::string& token : inputs_->vocabulary.tokens()) tokens += token + "\n";
    HW_RETURN_IF_ERROR(write_file_atomic(fs_, join_path(options_.output_dir, "vocab.txt"), tokens));
    HW_ASSIGN_OR_RETURN(reporter_, RunReporter::open(fs_, options_.output_dir, "pretrain", first_,
                                                     schedule_.total_steps, resume_step));
    return {};
  }

  // What a checkpoint knows besides its tensors.
  Json meta() const {
    Json meta = {{"version", HW_VERSION},           {"start_step", begin_},
                 {"slots_missing", slots_missing_}, {"start_report", start_report_},
                 {"options", fields_.to_json()},    {"data", data_->fingerprint()},
                 {"discriminator_joins", joins_}};
    if (phase_) {
      meta["source_step"] = phase_->source_step;
      meta["heldout_losses"] = heldout_losses_;
      meta["generator_trained"] = is_flat() || done_ == schedule_.total_steps;
    }
    ExportMeta exported;
    exported.generator = inputs_->configs.generator;
    if (options_.electra_objective) exported.discriminator = inputs_->configs.discriminator;
    exported.vocabulary_digest = inputs_->vocabulary.digest();
    exported.tokenizer = inputs_->tokenizer;
    put_export_meta(meta, exported);
    return meta;
  }

  void describe_run() {
    const PipelineStats stats = data_->stats();
    const double epochs =
        static_cast<double>((schedule_.total_steps - first_) * options_.train_batch_size *
                            options_.gradient_accumulation_steps) /
        static_cast<double>(std::max<int64_t>(1, stats.examples));
    reporter_->say(
        fmt::format("model     {} parameters, {}", trainer_->parameter_count(), origin_));
    reporter_->say(fmt::format("data      {} examples in {} shards, {:.2f} epochs to come",
                               stats.examples, stats.shards, epochs));
    reporter_->say(fmt::format("rate      {}", schedule_.text(first_)));
    reporter_->say(fmt::format("steps     {} to {}, {} sequences of {} tokens each, {} threads",
                               first_, schedule_.total_steps,
                               options_.train_batch_size * options_.gradient_accumulation_steps,
                               options_.max_seq_length, num_threads()));
  }

  // Unigram and bigram models of the same tokens, judged on the held-out part.
  Result<> report_baselines() {
    if (!evaluates() || resumed_) return {};
    TokenBaselines baselines(inputs_->configs.generator.vocab_size, inputs_->specials);
    PipelineOptions pipeline = pipeline_options(options_, inputs_->configs);
    pipeline.shuffle = false;
    HW_ASSIGN_OR_RETURN(const auto counted, PretrainPipeline::open(fs_, pipeline, inputs_->specials,
                                                                   data_->record_set()));
    const auto rows = [&](PretrainPipeline& source, int64_t batches, auto use) -> Result<> {
      for (int64_t i = 0; i < batches; ++i) {
        HW_ASSIGN_OR_RETURN(const PretrainBatch batch, source.next());
        const auto t = static_cast<size_t>(batch.seq_length);
        for (int64_t row = 0; row < batch.real_rows; ++row) {
          if (!use(std::span(batch.input_ids).subspan(static_cast<size_t>(row) * t, t))) return {};
        }
      }
      return {};
    };
    HW_RETURN_IF_ERROR(rows(*counted, counted->stats().steps_per_epoch, [&](auto ids) {
      baselines.count(ids);
      return !baselines.full() && !StopSignal::requested();
    }));
    HW_ASSIGN_OR_RETURN(const auto held_out, open_held_out());
    HW_RETURN_IF_ERROR(rows(*held_out, held_out->stats().steps_per_epoch, [&](auto ids) {
      baselines.judge(ids);
      return !StopSignal::requested();
    }));
    const BaselineScores scores = baselines.scores();
    return reporter_->report_split(first_, "baseline",
                                   {{"unigram_entropy", scores.unigram_entropy},
                                    {"unigram_loss", scores.unigram_loss},
                                    {"unigram_accuracy", scores.unigram_accuracy},
                                    {"bigram_loss", scores.bigram_loss},
                                    {"bigram_accuracy", scores.bigram_accuracy}});
  }

  // Whether the held-out loss has stopped falling: the best of the last three evaluations is not
  // half a percent under the best before them.
  bool is_flat() const {
    constexpr size_t kLast = 3;
    if (heldout_losses_.size() <= kLast) return false;
    const auto middle = heldout_losses_.end() - kLast;
    return *std::min_element(middle, heldout_losses_.end()) >
           0.995 * *std::min_element(heldout_losses_.begin(), middle);
  }

  Result<int> train() {
    const LoopOptions loop{.first_step = first_,
                           .final_step = schedule_.total_steps,
                           .log_steps = options_.log_steps,
                           .save_steps = options_.save_checkpoints_steps,
                           .eval_steps = evaluates() ? options_.eval_steps : 0,
                           .evaluates_first = !resumed_,
                           .directory = options_.output_dir};
    LoopParts parts;
    parts.train = [this](int64_t step) { return train_one(step); };
    parts.take_metrics = [this] { return take_metrics(); };
    parts.evaluate = [this](int64_t done) { return evaluate(done); };
    if (phase_) {
      parts.enough = [this]() -> std::optional<std::string> {
        if (!is_flat()) return std::nullopt;
        return "the generator's held-out loss is flat";
      };
    }
    parts.save = [this](int64_t done) { return save(done); };
    return run_train_loop(loop, parts, *reporter_);
  }

  Result<std::optional<StepReport>> train_one(int64_t step) {
    std::vector<PretrainBatch> batches;
    StepReport report;
    for (int64_t i = 0; i < options_.gradient_accumulation_steps; ++i) {
      HW_ASSIGN_OR_RETURN(PretrainBatch batch, data_->next());
      for (const int32_t real : batch.input_mask) report.tokens += real;
      batches.push_back(std::move(batch));
    }
    if (joins_ && step == options_.generator_warmup_steps) {
      HW_RETURN_IF_ERROR(trainer_->copy_parameters("generator.", "discriminator."));
    }
    report.learning_rate = schedule_.rate(step);
    HW_ASSIGN_OR_RETURN(const StepResult result,
                        trainer_->step(batches, step, report.learning_rate, metrics_));
    if (!result.finite()) HW_RETURN_IF_ERROR(diverged(step, result, batches));
    report.losses = {{"generator_loss", "mlm", result.mlm_loss}};
    if (result.disc_loss)
      report.losses.push_back({"discriminator_loss", "disc", *result.disc_loss});
    report.losses.push_back({"total_loss", "", result.total_loss});
    report.grad_norm = result.grad_norm;
    report.waited = data_->stats().data_wait_seconds;
    done_ = step + 1;
    return std::optional(report);
  }

  MetricValues take_metrics() {
    MetricValues values = metrics_.values();
    if (const auto warning =
            health_.observe(done_, metrics_.replaced_tokens(), metrics_.found_tokens())) {
      reporter_->warn(*warning);
    }
    metrics_.reset();
    return values;
  }

  Result<> diverged(int64_t step, const StepResult& result,
                    const std::vector<PretrainBatch>& batches) const {
    std::string records;
    for (const PretrainBatch& batch : batches) {
      records += (records.empty() ? "" : "; ") + batch.provenance();
    }
    const auto latest = latest_checkpoint(fs_, options_.output_dir);
    return fail_hint(
        Code::kOutOfRange,
        fmt::format("lower --learning-rate or look at the records; the last good checkpoint is {}",
                    latest ? latest->path : "none"),
        "step {}: the loss is {} and the gradient norm {}, trained on {}", step, result.total_loss,
        result.grad_norm, records);
  }

  Result<> evaluate(int64_t step) {
    HW_ASSIGN_OR_RETURN(const auto held_out, open_held_out());
    const int64_t batches = std::min(held_out->stats().steps_per_epoch, options_.num_eval_steps);
    ElectraMetrics metrics;
    Progress progress("evaluate", batches, "batches");
    for (int64_t i = 0; i < batches; ++i) {
      if (StopSignal::requested()) return {};  // half an evaluation would mislead
      HW_ASSIGN_OR_RETURN(const PretrainBatch batch, held_out->next());
      HW_RETURN_IF_ERROR(trainer_->evaluate(batch, metrics));
      progress.update(i + 1);
    }
    progress.finish();
    const MetricValues values = metrics.values();
    for (const auto& [name, value] : values) {
      if (name == "masked_lm_loss") heldout_losses_.push_back(value);
    }
    return reporter_->report_split(step, "heldout", values);
  }

  Result<> save(int64_t step) {
    HW_ASSIGN_OR_RETURN(TrainState state, trainer_->state(step));
    state.meta = dump_json(meta());
    HW_RETURN_IF_ERROR(
        save_checkpoint(fs_, options_.output_dir, state, options_.keep_checkpoint_max.value_or(0)));
    return {};
  }

  const PretrainOptions& options_;
  const Fields& fields_;
  std::optional<GeneratorPhase> phase_;
  FileSystem& fs_;
  StopSignal signals_;
  std::optional<RunInputs> inputs_;
  std::unique_ptr<Trainer> trainer_;
  std::unique_ptr<PretrainPipeline> data_;
  std::unique_ptr<RunReporter> reporter_;
  std::optional<Json> saved_meta_;  // of the checkpoint that is resumed
  std::string origin_ = "fresh weights", start_report_;
  int64_t begin_ = 0;  // the step at which the run began, before any resuming
  int64_t first_ = 0;  // of this process
  Schedule schedule_;  // its total_steps is the last step
  bool resumed_ = false;
  ElectraMetrics metrics_;  // of the steps since the last report
  DiscriminatorHealth health_;
  std::vector<double> heldout_losses_;  // of the generator, at each evaluation
  int64_t done_ = 0;                    // steps
  int stopped_ = 0;                     // exit code of a generator phase that did not end
  bool slots_missing_ = false;          // the run began from weights without Adam moments
  bool joins_ = false;                  // a fresh discriminator takes the generator's encoder over
};

}  // namespace

Result<int> run_pretraining(const PretrainOptions& options, const Fields& fields) {
  set_num_threads(static_cast<int>(options.threads));
  return PretrainRun(options, fields).run();
}

}  // namespace headwater
