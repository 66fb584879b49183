// Base against adapted: fine-tuning runs that differ in the model they started from and in nothing
// else, paired by seed, and what may be concluded from them.
//
// The result is comparison.json (docs/formats/comparison.md), which the terminal and the report
// show; the statistics are those of report/statistics.h. Nothing is trained here.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "io/file.h"

namespace headwater {

struct ComparisonSide {
  std::string name;                  // base, adapted, control
  std::vector<std::string> folders;  // of finished runs
};

struct ComparisonOptions {
  // What a difference is claimed of, corrected together; empty: by the kind of task.
  std::vector<std::string> metrics;
  double confidence = 0.95;
  int64_t resamples = 2000;
  int64_t seed = 0;              // of resamples and drawn signs
  int64_t listed_examples = 40;  // of those that changed most
};

// Sides in the order base, adapted, control; two or three. Seeds that one of them lacks are left
// out and named. Runs on other test examples, labels or tasks are an error; other settings that
// differ are listed in the result.
Result<Json> compare_runs(FileSystem& fs, std::span<const ComparisonSide> sides,
                          const ComparisonOptions& options);

}  // namespace headwater
