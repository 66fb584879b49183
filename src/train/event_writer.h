// TensorBoard event files: scalars and texts over steps, in the tensor form of TensorBoard 2.
//
// One TFRecord per event, each written whole, so that a reader that polls the file sees it at once
// and a crash cuts at most the last one. A resumed run opens a new file in the same folder that
// tells readers to forget the points behind the step it resumes from. metrics.jsonl
// (train/metrics_log.h) is the record of a run; these files are for looking.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/error.h"
#include "io/file.h"
#include "records/record_file.h"
#include "train/metrics.h"

namespace headwater {

struct EventWriterOptions {
  // The step of the checkpoint that a resumed run starts from; points behind it are forgotten.
  std::optional<int64_t> resume_step;
  std::function<double()> wall_time = {};  // seconds since 1970; empty: the system's clock
};

class EventWriter {
 public:
  // A new file in `directory`, which is made if need be; its name sorts behind those that are
  // there.
  static Result<EventWriter> open(FileSystem& fs, const std::string& directory,
                                  EventWriterOptions options = {});

  // One event for each value, tagged `prefix` + name ("train/", "heldout/").
  Result<> add_scalars(int64_t step, std::string_view prefix, const MetricValues& values);
  // Markdown for TensorBoard's text tab.
  Result<> add_text(int64_t step, std::string_view tag, std::string_view text);
  Result<> close();

  const std::string& path() const { return path_; }

 private:
  EventWriter() = default;
  Result<> write_header(std::optional<int64_t> resume_step);

  std::string path_;
  std::unique_ptr<ByteSink> sink_;
  std::function<double()> wall_time_;
  std::set<std::string, std::less<>> known_tags_;  // the first event of a tag carries its metadata
};

}  // namespace headwater
