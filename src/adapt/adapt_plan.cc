// The plan of an adaptation: what is done, and what the rest will take.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "adapt/adapt_run.h"
#include "adapt/adaptation.h"
#include "tokens/any_tokenizer.h"
#include "train/planned_step.h"
#include "train/step_trial.h"

namespace headwater {
namespace {

constexpr int64_t kSampleBytes = int64_t{1} << 18;  // of a file
constexpr size_t kSampleFiles = 8;
constexpr double kPackedRatio = 4, kBuildBytesPerSecond = 10e6, kForwardShare = 1.0 / 3;
constexpr int64_t kRecordOverhead = 80;  // bytes beside the values of an example

bool is_packed(const std::string& path) {
  return path.ends_with(".gz") || path.ends_with(".xz") || path.ends_with(".zst");
}

class AdaptPlan {
 public:
  AdaptPlan(FileSystem& fs, const AdaptOptions& options, Adaptation& work)
      : fs_(fs), options_(options), work_(work) {}

  Result<std::vector<PlannedStage>> make() {
    HW_ASSIGN_OR_RETURN(length_, work_.max_seq_length());
    HW_RETURN_IF_ERROR(measure_tokens());
    if (work_.source.is_run) add_export("base");
    for (const AdaptSide& side : work_.sides) HW_RETURN_IF_ERROR(add_records(side));
    HW_ASSIGN_OR_RETURN(stage_, pretrain_stage(options_, work_.sizes(), examples_.front()));
    stage_->options.vocab_file = vocab_file_;
    HW_ASSIGN_OR_RETURN(trial_, try_step(fs_, stage_->options));
    HW_ASSIGN_OR_RETURN(step_, plan_electra(fs_, stage_->options));
    for (const AdaptSide& side : work_.sides) {
      HW_RETURN_IF_ERROR(add_pretrain(side));
      add_export(side.name);
    }
    HW_RETURN_IF_ERROR(add_runs());
    rows_.push_back({.stage = "report.html",
                     .what = "one page of it all",
                     .seconds = 2,
                     .disk_bytes = int64_t{1} << 20});
    return std::move(rows_);
  }

 private:
  // Tokens per byte of text, of a sample of the first corpus.
  Result<> measure_tokens() {
    // A run's vocabulary stands beside its checkpoints; its export is not there yet.
    std::string tokenizer = options_.finetune.tokenizer;
    if (tokenizer.empty()) tokenizer = work_.source.is_run ? options_.model : work_.source.model;
    const auto info = fs_.info(tokenizer);
    vocab_file_ = info && info->is_directory ? join_path(tokenizer, "vocab.txt") : tokenizer;
    if (!fs_.exists(vocab_file_) && work_.source.is_run)
      vocab_file_ = join_path(directory_name(options_.model), "vocab.txt");
    HW_ASSIGN_OR_RETURN(const AnyTokenizer opened, AnyTokenizer::open(fs_, vocab_file_));
    HW_ASSIGN_OR_RETURN(const auto files, list_corpus(fs_, options_.corpus_dir));
    int64_t bytes = 0;
    std::vector<int32_t> ids;
    for (size_t i = 0; i < std::min(kSampleFiles, files.size()); ++i) {
      HW_ASSIGN_OR_RETURN(LineReader reader, LineReader::open(fs_, files[i].path));
      const int64_t end = bytes + kSampleBytes;
      for (std::string_view line; bytes < end;) {
        HW_ASSIGN_OR_RETURN(const bool more, reader.next(line));
        if (!more) break;
        opened.append_ids(line, ids);
        bytes += static_cast<int64_t>(line.size()) + 1;
      }
    }
    tokens_per_byte_ =
        static_cast<double>(ids.size()) / static_cast<double>(std::max<int64_t>(1, bytes));
    return {};
  }

  Result<> add_records(const AdaptSide& side) {
    const std::string name = records_stage(side);
    HW_ASSIGN_OR_RETURN(const auto files, list_corpus(fs_, side.corpus));
    double bytes = 0;
    for (const CorpusFile& file : files)
      bytes += static_cast<double>(file.size) * (is_packed(file.path) ? kPackedRatio : 1);
    const bool done = work_.ledger.is_done(name, name, work_.records_inputs(side, length_));
    HW_ASSIGN_OR_RETURN(int64_t examples, count_examples(fs_, work_.path(name)));
    if (!done)
      examples = std::max<int64_t>(
          1, static_cast<int64_t>(bytes * tokens_per_byte_ / static_cast<double>(length_ - 3)));
    examples_.push_back(examples);
    rows_.push_back(
        {.stage = name,
         .what = fmt::format("{}{} examples of {} tokens", done ? "" : "about ", examples, length_),
         .done = done,
         .seconds = bytes / kBuildBytesPerSecond,
         .disk_bytes = examples * (4 * length_ + kRecordOverhead)});
    return {};
  }

  Result<> add_pretrain(const AdaptSide& side) {
    const std::string name = pretrain_stage_name(side);
    const PretrainOptions& o = stage_->options;
    HW_ASSIGN_OR_RETURN(const int64_t state, step_->state_bytes());
    rows_.push_back(
        {.stage = name,
         .what = fmt::format("{} steps of {} x {} tokens", o.num_train_steps,
                             o.train_batch_size * o.gradient_accumulation_steps, o.max_seq_length),
         .done = work_.ledger.is_done(name, name, work_.pretrain_inputs(side, *stage_)),
         .seconds = trial_.seconds * static_cast<double>(o.num_train_steps),
         .disk_bytes = state * o.keep_checkpoint_max.value_or(1),
         .memory_bytes = trial_.memory_bytes});
    return {};
  }

  void add_export(const std::string& side) {
    const std::string name = model_stage(side);
    const Json inputs = side == "base" ? Json{{"model", work_.source.digest}}
                                       : Json{{"run", work_.ledger.key("pretrain/" + side)}};
    rows_.push_back({.stage = name,
                     .what = "as Hugging Face folder",
                     .done = work_.ledger.is_done(name, name, inputs),
                     .seconds = 1,
                     .disk_bytes = step_ ? step_->parameters * 4 : 0});
  }

  // At the arithmetic a second that the step of pre-training reached.
  Result<> add_runs() {
    const FinetuneOptions& runs = options_.finetune;
    const double speed_flops = [&]() -> double {
      const auto flops = step_->flops(1);
      return flops ? *flops * static_cast<double>(stage_->options.train_batch_size) /
                         std::max(1e-9, trial_.seconds)
                   : 1e9;
    }();
    PretrainOptions shape = stage_->options;
    const double tokens = std::clamp(work_.mean_train_bytes * tokens_per_byte_ + 2, 8.0,
                                     static_cast<double>(length_));
    shape.max_seq_length = static_cast<int64_t>(tokens);
    shape.max_predictions_per_seq = 1;
    HW_ASSIGN_OR_RETURN(const PlannedStep pair, plan_electra(fs_, shape));
    HW_ASSIGN_OR_RETURN(const double both, pair.flops(1));
    // Without the generator and its vocabulary's logits: the discriminator's share of the widths.
    HW_ASSIGN_OR_RETURN(const auto configs,
                        shape.model_configs(planned_vocabulary_size(fs_, shape).value_or(1)));
    const auto work = [](const ElectraConfig& c) {
      return static_cast<double>(c.num_hidden_layers * c.hidden_size * c.hidden_size);
    };
    const double share =
        work(configs.discriminator) / (work(configs.discriminator) + work(configs.generator));
    const double epochs = static_cast<double>(runs.steps.num_train_epochs.value_or(3));
    const double rows =
        static_cast<double>(work_.train_examples) * epochs +
        static_cast<double>(work_.judged_examples) * kForwardShare * (epochs + 1) / 2;
    const auto sides = static_cast<int64_t>(work_.sides.size()) + 1;
    rows_.push_back(
        {.stage = kRunsStage,
         .what = fmt::format("{} models x {} seeds, {} examples, {:.0f} epochs", sides,
                             options_.seeds, work_.train_examples, epochs),
         .done = work_.ledger.is_done(kRunsStage, kRunsStage, work_.runs_inputs()),
         .seconds = both * share * rows / speed_flops * static_cast<double>(sides * options_.seeds),
         .disk_bytes = sides * options_.seeds * step_->parameters * 4,
         .memory_bytes = trial_.memory_bytes / 2});
    return {};
  }

  FileSystem& fs_;
  const AdaptOptions& options_;
  Adaptation& work_;
  int64_t length_ = 0;
  double tokens_per_byte_ = 0;
  std::string vocab_file_;
  std::vector<int64_t> examples_;
  std::unique_ptr<PretrainStage> stage_;
  StepTrial trial_;
  std::optional<PlannedStep> step_;
  std::vector<PlannedStage> rows_;
};

}  // namespace

Result<std::vector<PlannedStage>> plan_adaptation(FileSystem& fs, const AdaptOptions& options,
                                                  const Fields& fields) {
  HW_ASSIGN_OR_RETURN(auto work, Adaptation::open(fs, options, fields));
  return AdaptPlan(fs, options, *work).make();
}

}  // namespace headwater
