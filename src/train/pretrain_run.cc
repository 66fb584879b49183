#include "train/pretrain_run.h"

#include <nlohmann/json.hpp>

#include "base/log.h"
#include "base/stop_signal.h"
#include "base/threads.h"
#include "checkpoints/export_meta.h"
#include "checkpoints/native.h"
#include "tokens/vocabulary.h"
#include "train/baselines.h"
#include "train/run_inputs.h"
#include "train/run_reporter.h"
#include "train/schedule.h"

namespace headwater {
namespace {

class PretrainRun {
 public:
  PretrainRun(const PretrainOptions& options, const Fields& fields)
      : options_(options), fields_(fields), fs_(local_files()) {}

  Result<int> run() {
    HW_RETURN_IF_ERROR(open_inputs());
    HW_RETURN_IF_ERROR(open_trainer());
    HW_RETURN_IF_ERROR(find_start());
    HW_RETURN_IF_ERROR(open_data());
    HW_RETURN_IF_ERROR(open_directory());
    describe_run();
    HW_RETURN_IF_ERROR(report_baselines());
    const Result<int> code = train();
    HW_RETURN_IF_ERROR(reporter_->close());
    return code;
  }

 private:
  Result<> open_inputs() {
    for (const std::string& note : options_.notes(fields_)) log_info("note: {}", note);
    HW_ASSIGN_OR_RETURN(inputs_, RunInputs::open(fs_, options_));
    return {};
  }

  Result<> open_trainer() {
    TrainerOptions trainer = trainer_options(options_, inputs_->configs);
    HW_ASSIGN_OR_RETURN(auto executor, Executor::open("cpu"));
    HW_ASSIGN_OR_RETURN(trainer_, Trainer::create(trainer, std::move(executor)));
    return {};
  }

  // Fresh weights, those of --init-checkpoint, or the run that --resume continues.
  Result<> find_start() {
    const auto latest = latest_checkpoint(fs_, options_.output_dir);
    if (!latest && latest.error().code != Code::kNotFound) return in_context(latest.error(), "run");
    if (options_.resume) return resume(latest);
    if (latest) {
      return fail_hint(
          Code::kAlreadyExists, "continue it with --resume, or name another --output-dir",
          "{} holds a run that has reached step {}", options_.output_dir, latest->step);
    }
    if (options_.init_checkpoint.empty()) {
      HW_RETURN_IF_ERROR(trainer_->initialize());
    } else {
      HW_RETURN_IF_ERROR(start_from_weights());
    }
    first_ = begin_;
    HW_ASSIGN_OR_RETURN(schedule_, options_.schedule(begin_));
    if (slots_missing_) schedule_.restart = options_.restart(begin_);
    return {};
  }

  Result<> start_from_weights() {
    HW_ASSIGN_OR_RETURN(const std::string path, find_checkpoint(fs_, options_.init_checkpoint));
    HW_ASSIGN_OR_RETURN(const TrainState state, load_checkpoint(fs_, path));
    HW_RETURN_IF_ERROR(check_same_vocabulary(state.meta, path));
    slots_missing_ = state.slots.empty();
    HW_RETURN_IF_ERROR(trainer_->load(state, /*with_slots=*/!slots_missing_, path));
    begin_ = options_.first_step(state.step);
    origin_ =
        fmt::format("{} of {} at step {}", slots_missing_ ? "weights" : "weights and Adam moments",
                    path, state.step);
    return {};
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
    first_ = state.step;
    begin_ = saved_start_step(*saved_meta_);
    origin_ = fmt::format("resumed from {}", latest->path);
    HW_ASSIGN_OR_RETURN(schedule_, options_.schedule(begin_));
    slots_missing_ = saved_slots_missing(*saved_meta_);
    if (slots_missing_) schedule_.restart = options_.restart(begin_);
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
    std::optional<int64_t> resume_step;
    if (options_.resume) resume_step = first_;
    HW_RETURN_IF_ERROR(write_file_atomic(fs_, join_path(options_.output_dir, "run.json"),
                                         dump_json(meta(), 2) + "\n"));
    std::string tokens;
    for (const std::string& token : inputs_->vocabulary.tokens()) tokens += token + "\n";
    HW_RETURN_IF_ERROR(write_file_atomic(fs_, join_path(options_.output_dir, "vocab.txt"), tokens));
    HW_ASSIGN_OR_RETURN(reporter_, RunReporter::open(fs_, options_.output_dir, first_,
                                                     schedule_.total_steps, resume_step));
    return {};
  }

  // What a checkpoint knows besides its tensors.
  Json meta() const {
    Json meta = {{"version", HW_VERSION},
                 {"start_step", begin_},
                 {"slots_missing", slots_missing_},
                 {"options", fields_.to_json()},
                 {"data", data_->fingerprint()}};
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
    if (!evaluates() || options_.resume) return {};
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

  Result<int> train() {
    const int64_t final_step = schedule_.total_steps;
    if (!options_.resume) HW_RETURN_IF_ERROR(evaluate(first_));
    ElectraMetrics metrics;
    for (int64_t step = first_; step < final_step; ++step) {
      HW_RETURN_IF_ERROR(train_one(step, schedule_.rate(step), metrics));
      const int64_t done = step + 1;
      const int stop = StopSignal::number();
      const bool last = done == final_step || stop != 0;
      if (last || done % options_.log_steps == 0) HW_RETURN_IF_ERROR(reporter_->report(metrics));
      if (stop == 0 && (done == final_step || is_multiple(done, options_.eval_steps))) {
        HW_RETURN_IF_ERROR(evaluate(done));
      }
      if (last || done % options_.save_checkpoints_steps == 0) HW_RETURN_IF_ERROR(save(done));
      if (stop != 0) {
        reporter_->say(
            fmt::format("stopped by signal {} after step {}; go on with --resume", stop, done));
        return 128 + stop;
      }
    }
    reporter_->say(fmt::format("done: step {}, {}", final_step, options_.output_dir));
    return 0;
  }

  static bool is_multiple(int64_t step, int64_t interval) {
    return interval > 0 && step % interval == 0;
  }

  Result<> train_one(int64_t step, double learning_rate, ElectraMetrics& metrics) {
    std::vector<PretrainBatch> batches;
    int64_t tokens = 0;
    for (int64_t i = 0; i < options_.gradient_accumulation_steps; ++i) {
      HW_ASSIGN_OR_RETURN(PretrainBatch batch, data_->next());
      for (const int32_t real : batch.input_mask) tokens += real;
      batches.push_back(std::move(batch));
    }
    HW_ASSIGN_OR_RETURN(const StepResult result,
                        trainer_->step(batches, step, learning_rate, metrics));
    if (!result.finite()) return diverged(step, result, batches);
    reporter_->step(step + 1, result, learning_rate, tokens, data_->stats().data_wait_seconds);
    return {};
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
    if (!evaluates()) return {};
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
    return reporter_->report_split(step, "heldout", metrics.values());
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
  FileSystem& fs_;
  StopSignal signals_;
  std::optional<RunInputs> inputs_;
  std::unique_ptr<Trainer> trainer_;
  std::unique_ptr<PretrainPipeline> data_;
  std::unique_ptr<RunReporter> reporter_;
  std::optional<Json> saved_meta_;  // of the checkpoint that is resumed
  std::string origin_ = "fresh weights";
  int64_t begin_ = 0;           // the step at which the run began, before any resuming
  int64_t first_ = 0;           // of this process
  Schedule schedule_;           // its total_steps is the last step
  bool slots_missing_ = false;  // the run began from weights without Adam moments
};

}  // namespace

Result<int> run_pretraining(const PretrainOptions& options, const Fields& fields) {
  set_num_threads(static_cast<int>(options.threads));
  return PretrainRun(options, fields).run();
}

}  // namespace headwater
