// What a finished fine-tuning run says about itself, as a comparison needs it
// (docs/formats/finetune-run.md).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "io/file.h"
#include "report/metric_series.h"
#include "report/test_predictions.h"

namespace headwater {

struct FinishedRun {
  std::string folder, task, problem_type;
  std::string split;  // whose metrics count: test, or dev of a run without test
  int64_t seed = 0, steps = 0, best_step = 0;
  double seconds = 0;
  std::map<std::string, double> metrics;       // of the split
  std::map<std::string, std::string> options;  // name -> JSON
  std::map<std::string, std::string> digests;  // of train, dev, test, model, vocabulary
  std::vector<std::string> labels;             // in the order of their indices
  std::map<std::string, int64_t> support;      // by label
  std::optional<TestPredictions> predictions;  // none: no predictions.jsonl, or of another kind
  std::vector<MetricSeries> series;

  static Result<FinishedRun> read(FileSystem& fs, const std::string& folder);
};

// The texts of the examples that the run was judged on, a pair in two lines; none where their file
// is not there any more, or another one.
std::vector<std::string> example_texts(FileSystem& fs, const FinishedRun& run);

// The folder itself if it holds a finished run (results.json), or those below it, up to two deep.
Result<std::vector<std::string>> find_finished_runs(FileSystem& fs, const std::string& folder);

}  // namespace headwater
