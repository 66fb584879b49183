#include "adapt/adapt_run.h"

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>

#include "adapt/adaptation.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/stop_signal.h"
#include "checkpoints/export_run.h"
#include "checkpoints/native.h"
#include "report/metric_series.h"
#include "report/paired_runs.h"
#include "report/report_data.h"
#include "report/report_page.h"
#include "train/pretrain_run.h"

namespace headwater {
namespace {

constexpr const char *kExcluded = "excluded.txt", *kReport = "report.html";

// First and last value of a curve on held-out records; empty without one.
std::string first_and_last(const std::vector<MetricSeries>& series, const char* metric,
                           const char* name, int digits) {
  for (const MetricSeries& curve : series) {
    if (curve.split != "heldout" || curve.metric != metric || curve.points.empty()) continue;
    return fmt::format(", {} {:.{}f} -> {:.{}f}", name, curve.points.front().value, digits,
                       curve.points.back().value, digits);
  }
  return "";
}

class AdaptRun {
 public:
  AdaptRun(FileSystem& fs, const AdaptOptions& options, std::unique_ptr<Adaptation> work)
      : fs_(fs), options_(options), work_(std::move(work)) {}

  Result<AdaptResult> run() {
    HW_RETURN_IF_ERROR(check_folder());
    HW_RETURN_IF_ERROR(export_base());
    HW_RETURN_IF_ERROR(keep_texts_out());
    for (const AdaptSide& side : work_->sides) HW_RETURN_IF_ERROR(build(side));
    for (const AdaptSide& side : work_->sides) {
      if (result_.exit_code == 0) HW_RETURN_IF_ERROR(pretrain(side));
      if (result_.exit_code == 0) HW_RETURN_IF_ERROR(export_side(side));
    }
    if (result_.exit_code == 0) HW_RETURN_IF_ERROR(compare());
    if (result_.exit_code == 0) HW_RETURN_IF_ERROR(report());
    return std::move(result_);
  }

 private:
  Result<StageLedger::State> enter(const std::string& name, const Json& inputs) {
    std::string moved;
    HW_ASSIGN_OR_RETURN(const StageLedger::State state,
                        work_->ledger.enter(name, name, inputs, moved));
    if (!moved.empty())
      log_info("{}: made anew, as what it depends on has changed; the old one is {}", name, moved);
    return state;
  }

  // Makes a stage unless it is done: `make` says what it made, or nothing when a signal stopped it.
  using Make = std::function<Result<std::string>(bool goes_on)>;
  Result<> stage(const std::string& name, const Json& inputs, const Make& make) {
    HW_ASSIGN_OR_RETURN(const StageLedger::State state, enter(name, inputs));
    if (state == StageLedger::State::kDone) {
      result_.lines.push_back(
          fmt::format("{}: {} (there already)", name, work_->ledger.line(name)));
      log_line_info(result_.lines.back());
      return {};
    }
    log_info("{}: {}", name, state == StageLedger::State::kNew ? "begins" : "goes on");
    const auto start = std::chrono::steady_clock::now();
    auto made = make(state == StageLedger::State::kInterrupted);
    if (!made) return in_context(std::move(made).error(), name);
    if (result_.exit_code != 0) return {};
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    HW_RETURN_IF_ERROR(work_->ledger.finish(name, *made, spent.count()));
    result_.lines.push_back(
        fmt::format("{}: {} ({})", name, *made, Progress::duration(spent.count())));
    log_line_info(result_.lines.back());
    return {};
  }

  Result<std::string> export_to(const std::string& run, const std::string& name, bool overwrite) {
    ExportRunOptions request;
    request.checkpoint = run;
    request.output_dir = work_->path(name);
    request.overwrite = overwrite;
    HW_ASSIGN_OR_RETURN(const ExportRunReport report, export_run(fs_, request));
    for (const std::string& warning : report.warnings) log_line_warning(warning);
    return fmt::format("step {} as Hugging Face folder", report.step);
  }

  Result<> export_base() {
    if (!work_->source.is_run) return {};
    return stage(model_stage("base"), {{"model", work_->source.digest}}, [&](bool goes_on) {
      return export_to(options_.model, model_stage("base"), goes_on);
    });
  }

  // Files that are written outside of stages.
  Result<> check_folder() {
    if (!work_->ledger.is_new()) return {};
    for (const char* name : {kExcluded, kReport}) {
      if (fs_.exists(work_->path(name)))
        return fail_hint(Code::kFailedPrecondition, "name another --output-dir, or move it away",
                         "{} was not made by this command", work_->path(name));
    }
    return {};
  }

  // Models that have seen the test texts are judged too well.
  Result<> keep_texts_out() {
    HW_RETURN_IF_ERROR(fs_.make_directories(options_.output_dir));
    if (work_->excluded.empty()) return {};
    return write_file_atomic(fs_, work_->path(kExcluded), work_->excluded_lines());
  }

  Result<> build(const AdaptSide& side) {
    HW_ASSIGN_OR_RETURN(const int64_t length, work_->max_seq_length());
    const std::string name = records_stage(side);
    return stage(name, work_->records_inputs(side, length),
                 [&](bool goes_on) -> Result<std::string> {
                   RecordsBuildOptions build;
                   build.corpus_dir = side.corpus;
                   HW_ASSIGN_OR_RETURN(build.vocab_file, work_->tokenizer());
                   build.output_dir = work_->path(name);
                   build.max_seq_length = length;
                   build.overwrite = goes_on;
                   build.split_long_lines = true;
                   if (!work_->excluded.empty()) build.exclude = {work_->path(kExcluded)};
                   const StopSignal stop;
                   const auto summary = build_records(fs_, build, StopSignal::requested);
                   if (!summary && summary.error().code == Code::kCancelled) {
                     result_.exit_code = 128 + StopSignal::number();
                     return std::string();
                   }
                   if (!summary) return tl::unexpected<Error>(summary.error());
                   for (const std::string& warning : summary->warnings) log_line_warning(warning);
                   const BuildCounts& c = summary->counts;
                   return fmt::format(
                       "{} examples of {} tokens from {} lines; left out: {} lines with a dev or "
                       "test text, {} nearly one",
                       c.examples, length, c.lines, c.excluded_exact, c.excluded_near);
                 });
  }

  Result<> pretrain(const AdaptSide& side) {
    const std::string name = pretrain_stage_name(side), records = work_->path(records_stage(side));
    // The control goes as many steps as the adapted model.
    HW_ASSIGN_OR_RETURN(const int64_t examples,
                        count_examples(fs_, work_->path(records_stage(work_->sides.front()))));
    HW_ASSIGN_OR_RETURN(auto stage_of, pretrain_stage(options_, work_->sizes(), examples));
    HW_ASSIGN_OR_RETURN(const std::string tokenizer, work_->tokenizer());
    const Json inputs = work_->pretrain_inputs(side, *stage_of);
    return stage(name, inputs, [&](bool goes_on) -> Result<std::string> {
      Json places = {{"records", join_path(records, "*.tfrecord*")},
                     {"output_dir", work_->path(name)}};
      const auto info = fs_.info(tokenizer);
      places["vocab_file"] =
          info && info->is_directory ? join_path(tokenizer, "vocab.txt") : tokenizer;
      if (goes_on && (latest_checkpoint(fs_, work_->path(name)) ||
                      latest_checkpoint(fs_, join_path(work_->path(name), "generator")))) {
        places["resume"] = true;
        places["init_checkpoint"] = "";
      }
      HW_RETURN_IF_ERROR(stage_of->fields.set_json(places, "adapt"));
      if (const auto done = latest_checkpoint(fs_, work_->path(name));
          !goes_on || !done || done->step < stage_of->options.num_train_steps) {
        HW_ASSIGN_OR_RETURN(result_.exit_code,
                            run_pretraining(stage_of->options, stage_of->fields));
        if (result_.exit_code != 0) return std::string();
      }
      const auto series = read_metric_series(fs_, join_path(work_->path(name), "metrics.jsonl"));
      if (!series) return tl::unexpected<Error>(series.error());
      return fmt::format("{} steps", stage_of->options.num_train_steps) +
             first_and_last(*series, "masked_lm_loss", "held-out generator loss", 2) +
             first_and_last(*series, "disc_loss", "discriminator loss", 3) +
             first_and_last(*series, "disc_auc", "AUC", 3);
    });
  }

  Result<> export_side(const AdaptSide& side) {
    const std::string run = pretrain_stage_name(side), name = model_stage(side.name);
    return stage(name, {{"run", work_->ledger.key(run)}},
                 [&](bool goes_on) { return export_to(work_->path(run), name, goes_on); });
  }

  Result<> compare() {
    PairedRuns runs{{{"base", work_->model_of("base")}},
                    work_->path(kRunsStage),
                    options_.first_seed,
                    options_.seeds,
                    work_->run_options};
    for (const AdaptSide& side : work_->sides)
      runs.models.emplace_back(side.name, work_->model_of(side.name));
    // More seeds than before are no reason to begin anew, so that they are not among the inputs.
    const Json inputs = work_->runs_inputs();
    HW_ASSIGN_OR_RETURN(const auto state, enter(kRunsStage, inputs));
    const bool was_done = state == StageLedger::State::kDone;
    const auto start = std::chrono::steady_clock::now();
    HW_ASSIGN_OR_RETURN(result_.exit_code, run_pairs(fs_, runs));
    if (result_.exit_code != 0) return {};
    std::vector<ComparisonSide> sides;
    for (const auto& [name, model] : runs.models) {
      sides.push_back({name, {}});
      for (int64_t i = 0; i < options_.seeds; ++i)
        sides.back().folders.push_back(
            paired_run_folder(runs.output_dir, name, options_.first_seed + i));
    }
    HW_ASSIGN_OR_RETURN(const Json comparison, compare_runs(fs_, sides, options_.comparison));
    result_.comparison = dump_json(comparison, 1) + "\n";
    HW_RETURN_IF_ERROR(
        write_file_atomic(fs_, join_path(runs.output_dir, "comparison.json"), result_.comparison));
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    const std::string line =
        fmt::format("{} models fine-tuned with {} seeds each", runs.models.size(), options_.seeds);
    result_.lines.push_back(
        fmt::format("{}: {} ({})", kRunsStage, line,
                    was_done ? "what was there stays" : Progress::duration(spent.count())));
    log_line_info(result_.lines.back());
    return work_->ledger.finish(kRunsStage, line, spent.count());
  }

  Result<> report() {
    std::vector<std::string> folders;
    for (const AdaptSide& side : work_->sides) {
      folders.push_back(work_->path(records_stage(side)));
      folders.push_back(work_->path(pretrain_stage_name(side)));
    }
    folders.push_back(work_->path(kRunsStage));
    HW_ASSIGN_OR_RETURN(const Json data, gather_report(fs_, folders));
    result_.report = work_->path(kReport);
    return write_file_atomic(fs_, result_.report, report_page(options_.title, data));
  }

  FileSystem& fs_;
  const AdaptOptions& options_;
  std::unique_ptr<Adaptation> work_;
  AdaptResult result_;
};

}  // namespace

Result<AdaptResult> run_adaptation(FileSystem& fs, const AdaptOptions& options,
                                   const Fields& fields) {
  HW_ASSIGN_OR_RETURN(auto work, Adaptation::open(fs, options, fields));
  return AdaptRun(fs, options, std::move(work)).run();
}

}  // namespace headwater
