#include "train/metrics_log.h"

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json.h"

namespace headwater {
namespace {

constexpr size_t kLongestLine = 1 << 20;  // bytes; ours have some hundred

// The step of a whole line of ours; none for anything else.
std::optional<int64_t> step_of(std::string_view line) {
  const auto object = parse_json(line, "metrics");
  if (!object || !object->is_object()) return std::nullopt;
  const auto step = object->find("step");
  if (step == object->end() || !step->is_number_integer()) return std::nullopt;
  return step->get<int64_t>();
}

Result<> copy_up_to(ByteSource& source, int64_t last_step, ByteSink& sink) {
  std::array<uint8_t, 1 << 16> buffer;
  std::string line;
  while (true) {
    HW_ASSIGN_OR_RETURN(const size_t n, source.read(buffer));
    if (n == 0) return {};  // a rest without a line end is a line cut short
    for (size_t i = 0; i < n; ++i) {
      if (line.size() < kLongestLine) line += static_cast<char>(buffer[i]);
      if (buffer[i] != '\n') continue;
      const auto step = line.back() == '\n' ? step_of(line) : std::nullopt;
      if (step && *step <= last_step) HW_RETURN_IF_ERROR(sink.write(line));
      line.clear();
    }
  }
}

}  // namespace

Result<MetricsLog> MetricsLog::open(FileSystem& fs, const std::string& path,
                                    std::optional<int64_t> resume_step) {
  const std::string temporary = path + ".new";
  MetricsLog log;
  HW_ASSIGN_OR_RETURN(log.sink_, fs.open_write(temporary));
  if (resume_step && fs.exists(path)) {
    HW_ASSIGN_OR_RETURN(const auto source, fs.open_read(path));
    HW_RETURN_IF_ERROR(copy_up_to(*source, *resume_step, *log.sink_));
  }
  HW_RETURN_IF_ERROR(fs.rename(temporary, path));  // the open file goes on under its new name
  return log;
}

Result<> MetricsLog::write(int64_t step, std::string_view split, const MetricValues& values) {
  Json object = Json::object();
  object["step"] = step;
  object["split"] = std::string(split);
  for (const auto& [name, value] : values)
    object[name] = std::isfinite(value) ? Json(value) : Json(nullptr);
  return sink_->write(dump_json(object) + "\n");
}

Result<> MetricsLog::close() {
  if (!sink_) return {};
  const std::unique_ptr<ByteSink> sink = std::move(sink_);
  return sink->close();
}

}  // namespace headwater
