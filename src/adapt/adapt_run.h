// The whole story as one command: texts to keep out, records, continued pre-training, export,
// paired fine-tuning, report. Stages whose inputs have not changed are taken as they are, and what
// was interrupted goes on (stage_ledger.h).
//
//   OUTPUT_DIR/excluded.txt             texts of the dev and test split
//   OUTPUT_DIR/records/<side>           side: adapted, control
//   OUTPUT_DIR/pretrain/<side>
//   OUTPUT_DIR/models/<side>            base too where it is a run of ours
//   OUTPUT_DIR/comparison               runs and comparison.json
//   OUTPUT_DIR/report.html
#pragma once

#include <string>
#include <vector>

#include "adapt/adapt_options.h"

namespace headwater {

struct AdaptResult {
  int exit_code = 0;               // of a stage that a signal stopped; the rest is not there then
  std::vector<std::string> lines;  // a line per stage: what was made
  std::string comparison;          // comparison.json
  std::string report;
};

// `fields` describe `options`.
Result<AdaptResult> run_adaptation(FileSystem& fs, const AdaptOptions& options,
                                   const Fields& fields);

// A row of the plan that --dry-run prints. What is done already takes nothing.
struct PlannedStage {
  std::string stage, what;
  bool done = false;
  double seconds = 0;
  int64_t disk_bytes = 0, memory_bytes = 0;
};
// Times are extrapolated from one step of pre-training that is done here and now.
Result<std::vector<PlannedStage>> plan_adaptation(FileSystem& fs, const AdaptOptions& options,
                                                  const Fields& fields);

}  // namespace headwater
