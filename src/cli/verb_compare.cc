// `compare`: is the adapted model better, and can it be believed?
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "cli/comparison_text.h"
#include "cli/verb.h"
#include "report/comparison.h"
#include "report/finished_run.h"
#include "report/paired_runs.h"

namespace headwater {
namespace {

struct CompareOptions {
  std::string base, adapted, control, output_dir;
  int64_t seeds = 8, first_seed = 1;
  bool runs = false, json = false;
  ComparisonOptions comparison;
  FinetuneOptions finetune;

  void describe(Fields& f) {
    f("base", base, "the model before, or with --runs the folder of its fine-tuning runs")
        .required()
        .value_name("DIR");
    f("adapted", adapted, "the model after").required().value_name("DIR");
    f("control", control, "a model that was trained as long on other text").value_name("DIR");
    f("output_dir", output_dir, "gets comparison.json, and a folder of runs for every side")
        .required()
        .value_name("DIR");
    f("seeds", seeds, "runs on each side, with the same seeds on all of them").range(1, 1000);
    f("first_seed", first_seed, "the others follow it").non_negative();
    f("runs", runs, "nothing is trained: --base, --adapted and --control hold finished runs");
    f("json", json, "print comparison.json instead of tables");
    f.group("What is claimed");
    f("metric", comparison.metrics,
      "metric that a claim is made of; several are corrected together [default: f1_micro and "
      "f1_macro, accuracy and f1_macro, or pearson and spearman, by the task]")
        .alias("metrics");
    f("confidence", comparison.confidence, "of intervals; a claim needs p of at most 1 less this")
        .range(0.5, 0.9999);
    f("resamples", comparison.resamples, "of the bootstrap").range(100, 100'000);
    f("bootstrap_seed", comparison.seed, "of the resamples").non_negative();
    f("listed_examples", comparison.listed_examples, "examples that changed most, to be listed")
        .range(0, 10'000);
    describe_run_options(finetune, f);
  }

  Result<> resolve(Fields& f) {
    if (runs) return {};
    if (f.find("train")->is_default()) {
      return fail_hint(Code::kInvalidArgument,
                       "or name finished runs as --base and --adapted, with --runs",
                       "fine-tuning needs --task, --train and --test or --dev");
    }
    if (finetune.test.empty() && !finetune.has_dev())
      return fail(Code::kInvalidArgument, "--test or --dev names what is compared");
    return {};
  }
};

Result<int> run_compare(const CompareOptions& options, const Fields& fields) {
  FileSystem& fs = local_files();
  PairedRuns paired{
      {}, options.output_dir, options.first_seed, options.seeds, given_run_options(fields)};
  for (const auto& [name, folder] :
       {std::pair("base", options.base), std::pair("adapted", options.adapted),
        std::pair("control", options.control)}) {
    if (!folder.empty()) paired.models.emplace_back(name, folder);
  }
  if (!options.runs) {
    HW_ASSIGN_OR_RETURN(const int code, run_pairs(fs, paired));
    if (code != 0) return code;
  }
  std::vector<ComparisonSide> sides;
  for (const auto& [name, folder] : paired.models) {
    sides.push_back({name, {}});
    if (options.runs) {
      HW_ASSIGN_OR_RETURN(sides.back().folders, find_finished_runs(fs, folder));
      continue;
    }
    for (int64_t i = 0; i < options.seeds; ++i)
      sides.back().folders.push_back(
          paired_run_folder(options.output_dir, name, options.first_seed + i));
  }
  HW_ASSIGN_OR_RETURN(const Json comparison, compare_runs(fs, sides, options.comparison));
  HW_RETURN_IF_ERROR(fs.make_directories(options.output_dir));
  const std::string path = join_path(options.output_dir, "comparison.json");
  HW_RETURN_IF_ERROR(write_file_atomic(fs, path, dump_json(comparison, 1) + "\n"));
  const std::string text =
      options.json ? dump_json(comparison, 1) + "\n" : comparison_text(comparison);
  std::fwrite(text.data(), 1, text.size(), stdout);
  log_info("{}: headwater report {} draws it", path, options.output_dir);
  return 0;
}

}  // namespace

Verb make_compare_verb() {
  return make_verb<CompareOptions>(
      {.name = "compare",
       .summary = "is the adapted model better, and can it be believed?",
       .description =
           "Fine-tunes two models, or three, with the same seeds, data and settings, pairs the "
           "runs by "
           "their seed and says of each metric by how much they differ, with an interval from "
           "resampling seeds and test examples, and whether a "
           "difference can be claimed: its interval misses 0, and its permutation p-value, "
           "corrected for the number of metrics (Holm), is small enough. With five seeds it "
           "cannot be.\n\nRuns that are there already, with the same options and files, are not "
           "repeated, and a comparison that was stopped goes on. Options of the runs are those of "
           "`headwater finetune`.",
       .examples =
           {{"headwater compare --base koelectra --adapted spoken/model --task kote --train "
             "train.tsv --dev val.tsv --test test.tsv --seeds 8 --output-dir kote",
             "sixteen runs"},
            {"headwater compare --runs --base runs/base --adapted runs/adapted "
             "--output-dir comparison",
             "runs that are there"}}},
      run_compare);
}

}  // namespace headwater
