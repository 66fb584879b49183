// The fine-tuning runs of a comparison: every seed on every side, with the same data and settings.
//
//   OUTPUT_DIR/<side>/seed-<n>/      a run's folder (docs/formats/finetune-run.md)
//
// Runs that are there are taken as they are when their options and the digests of data and model
// are the same; one that was stopped goes on from its last checkpoint. All sides of a seed are run
// before the next seed, so that what is done at any time can be compared.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "finetune/finetune_options.h"
#include "io/file.h"

namespace headwater {

struct PairedRuns {
  std::vector<std::pair<std::string, std::string>> models;  // name of the side, its model
  std::string output_dir;
  int64_t first_seed = 1, seeds = 1;
  std::string options;  // JSON: what was given of `headwater finetune`, for every run
};

// Adds the options of `headwater finetune` to those of a verb that runs it, without those that a
// comparison sets itself: model, output_dir, seed and resume.
void describe_run_options(FinetuneOptions& options, Fields& fields);
// What was given of them, as JSON for PairedRuns::options.
std::string given_run_options(const Fields& fields);
// Those of them that change what a run finds.
Json telling_run_options(const std::string& options);

// Checks every option first: a wrong one costs no run. Returns 0, or the exit code of a run that a
// signal stopped.
Result<int> run_pairs(FileSystem& fs, const PairedRuns& runs);

std::string paired_run_folder(const std::string& output_dir, const std::string& side, int64_t seed);

}  // namespace headwater
