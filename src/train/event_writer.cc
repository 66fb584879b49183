#include "train/event_writer.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>

#include "train/events.pb.h"

namespace headwater {
namespace {

constexpr std::string_view kFilePrefix = "events.out.tfevents.";

double system_seconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

std::string host_name() {
  char buffer[256] = {};
  if (gethostname(buffer, sizeof buffer - 1) != 0 || buffer[0] == '\0') return "localhost";
  std::string name = buffer;
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

// Readers take the files of a folder in the order of their names: a run that resumes within a
// second, or under a clock that was set back, must still come last.
Result<int64_t> next_seconds(FileSystem& fs, const std::string& directory, double now) {
  auto seconds = static_cast<int64_t>(now);
  HW_ASSIGN_OR_RETURN(const auto files, fs.list(directory));
  for (const FileInfo& file : files) {
    const std::string name = base_name(file.path);
    if (!name.starts_with(kFilePrefix)) continue;
    int64_t found = 0;
    const char* digits = name.data() + kFilePrefix.size();
    const auto [end, error] = std::from_chars(digits, name.data() + name.size(), found);
    constexpr int64_t kTenDigits = 9999999999;  // a longer name would sort before shorter ones
    if (error == std::errc() && found < kTenDigits) seconds = std::max(seconds, found + 1);
  }
  return seconds;
}

Result<> write_event(ByteSink& sink, const events::Event& event) {
  return RecordWriter(sink).write(event.SerializeAsString());
}

}  // namespace

Result<EventWriter> EventWriter::open(FileSystem& fs, const std::string& directory,
                                      EventWriterOptions options) {
  EventWriter writer;
  writer.wall_time_ = options.wall_time ? std::move(options.wall_time) : system_seconds;
  HW_RETURN_IF_ERROR(fs.make_directories(directory));
  HW_ASSIGN_OR_RETURN(const int64_t seconds, next_seconds(fs, directory, writer.wall_time_()));
  writer.path_ = join_path(
      directory, fmt::format("{}{:010}.{}.{}.v2", kFilePrefix, seconds, host_name(), getpid()));
  HW_ASSIGN_OR_RETURN(writer.sink_, fs.open_write(writer.path_));
  HW_RETURN_IF_ERROR(writer.write_header(options.resume_step));
  return writer;
}

Result<> EventWriter::write_header(std::optional<int64_t> resume_step) {
  events::Event version;
  version.set_wall_time(wall_time_());
  version.set_file_version("brain.Event:2");
  HW_RETURN_IF_ERROR(write_event(*sink_, version));
  if (!resume_step) return {};
  events::Event start;
  start.set_wall_time(wall_time_());
  start.set_step(*resume_step + 1);  // readers drop this step and all behind it
  start.mutable_session_log()->set_status(events::SessionLog::START);
  return write_event(*sink_, start);
}

Result<> EventWriter::add_scalars(int64_t step, std::string_view prefix,
                                  const MetricValues& values) {
  for (const auto& [name, value] : values) {
    events::Event event;
    event.set_wall_time(wall_time_());
    event.set_step(step);
    auto& entry = *event.mutable_summary()->add_value();
    entry.set_tag(std::string(prefix) + name);
    entry.mutable_tensor()->set_dtype(events::Tensor::FLOAT);
    entry.mutable_tensor()->mutable_tensor_shape();
    entry.mutable_tensor()->add_float_val(static_cast<float>(value));
    if (known_tags_.insert(entry.tag()).second) {
      entry.mutable_metadata()->mutable_plugin_data()->set_plugin_name("scalars");
      entry.mutable_metadata()->set_data_class(events::Metadata::SCALAR);
    }
    HW_RETURN_IF_ERROR(write_event(*sink_, event));
  }
  return {};
}

Result<> EventWriter::add_text(int64_t step, std::string_view tag, std::string_view text) {
  events::Event event;
  event.set_wall_time(wall_time_());
  event.set_step(step);
  auto& entry = *event.mutable_summary()->add_value();
  entry.set_tag(std::string(tag));
  entry.mutable_tensor()->set_dtype(events::Tensor::STRING);
  entry.mutable_tensor()->mutable_tensor_shape()->add_dim()->set_size(1);
  entry.mutable_tensor()->add_string_val(std::string(text));
  if (known_tags_.insert(entry.tag()).second) {
    entry.mutable_metadata()->mutable_plugin_data()->set_plugin_name("text");
    entry.mutable_metadata()->set_data_class(events::Metadata::TENSOR);
  }
  return write_event(*sink_, event);
}

Result<> EventWriter::close() {
  if (!sink_) return {};
  const std::unique_ptr<ByteSink> sink = std::move(sink_);
  return sink->close();
}

}  // namespace headwater
