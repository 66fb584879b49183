// metrics.jsonl: the record of a run, one JSON object per line, each line written whole.
//
//   {"step": 100, "split": "train", "masked_lm_loss": 6.71, ...}
//
// A resumed run keeps the lines up to the step it resumes from and drops the rest, so that every
// step appears once, as in a run that never stopped. A line that a crash cut short is dropped.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "io/file.h"
#include "train/metrics.h"

namespace headwater {

class MetricsLog {
 public:
  // Without `resume_step` the file begins empty. With it, what is kept is first written beside the
  // old file and takes its place by a rename: a killed process leaves one of the two.
  static Result<MetricsLog> open(FileSystem& fs, const std::string& path,
                                 std::optional<int64_t> resume_step);

  // A value that is not finite is written as null.
  Result<> write(int64_t step, std::string_view split, const MetricValues& values);
  Result<> close();

 private:
  MetricsLog() = default;
  std::unique_ptr<ByteSink> sink_;
};

}  // namespace headwater
