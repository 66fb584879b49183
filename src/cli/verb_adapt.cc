// `adapt`: from a model and a corpus to proof, in one command.
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "adapt/adapt_run.h"
#include "base/log.h"
#include "base/progress.h"
#include "cli/comparison_text.h"
#include "cli/table.h"
#include "cli/verb.h"

namespace headwater {
namespace {

void print_plan(const std::vector<PlannedStage>& stages) {
  TextTable table("llrrr");
  table.add({"stage", "what", "time", "memory", "disk"});
  double seconds = 0;
  int64_t disk = 0, memory = 0;
  for (const PlannedStage& stage : stages) {
    const auto left = [&](std::string text) { return stage.done ? std::string("done") : text; };
    table.add({stage.stage, stage.what, left(Progress::duration(stage.seconds)),
               stage.memory_bytes > 0 ? byte_text(stage.memory_bytes) : "",
               byte_text(stage.disk_bytes)});
    if (stage.done) continue;
    seconds += stage.seconds;
    disk += stage.disk_bytes;
    memory = std::max(memory, stage.memory_bytes);
  }
  table.add({"in all", "", Progress::duration(seconds), byte_text(memory), byte_text(disk)});
  const std::string text =
      table.text() +
      "Estimated from one step of pre-training, measured just now; nothing was written.\n";
  std::fwrite(text.data(), 1, text.size(), stdout);
}

Result<int> run_adapt(const AdaptOptions& options, const Fields& fields) {
  FileSystem& fs = local_files();
  if (options.dry_run) {
    HW_ASSIGN_OR_RETURN(const auto stages, plan_adaptation(fs, options, fields));
    print_plan(stages);
    return 0;
  }
  HW_ASSIGN_OR_RETURN(const AdaptResult result, run_adaptation(fs, options, fields));
  if (result.exit_code != 0) {
    log_warning("stopped; the same command goes on");
    return result.exit_code;
  }
  HW_ASSIGN_OR_RETURN(const Json comparison, parse_json(result.comparison, "comparison.json"));
  std::string text;
  for (const std::string& line : result.lines) text += line + "\n";
  text += "\n" + comparison_text(comparison) + "report: " + result.report + "\n";
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}

}  // namespace

Verb make_adapt_verb() {
  return make_verb<AdaptOptions>(
      {.name = "adapt",
       .summary = "continue a model on a corpus, and prove on a task what it brought",
       .description =
           "All in one: records of the corpus without the task's dev and test texts, continued "
           "pre-training (of a generator first, where the model has none), export, fine-tuning of "
           "base and adapted model with the same seeds, and a report that says whether a "
           "difference can be claimed. With --control-corpus-dir a third model goes as many steps "
           "on text of the old kind: without it nobody knows whether the new text helped or just "
           "more steps did.\n\nThe same command again goes on where it was stopped, and repeats "
           "only what depends on something that has changed; what a changed stage had made before "
           "is set aside, not deleted. Options of the fine-tuning runs are those of `headwater "
           "finetune`.",
       .examples =
           {{"headwater adapt --model koelectra-base-v3 --corpus-dir spoken --task kote --train "
             "train.tsv --dev val.tsv --test test.tsv --output-dir adapted --dry-run",
             "what it would take"},
            {"headwater adapt --model koelectra-base-v3 --corpus-dir spoken --control-corpus-dir "
             "written --task kote --train train.tsv --dev val.tsv --test test.tsv --steps 300000 "
             "--output-dir adapted",
             "with a fair control"}},
       .exit_notes = "130, 143  stopped by Ctrl-C or SIGTERM; the same command goes on"},
      run_adapt);
}

}  // namespace headwater
