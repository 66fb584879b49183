#include "report/metric_series.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"

namespace headwater {
namespace {

constexpr int64_t kLargestFile = int64_t{256} << 20;  // bytes; a million lines of ours

void add(std::vector<MetricSeries>& all, const std::string& split, const std::string& metric,
         MetricPoint point) {
  auto series = std::ranges::find_if(
      all, [&](const MetricSeries& s) { return s.split == split && s.metric == metric; });
  if (series == all.end()) series = all.insert(all.end(), {split, metric, {}});
  series->points.push_back(point);
}

}  // namespace

Result<std::vector<MetricSeries>> read_metric_series(FileSystem& fs, const std::string& path) {
  HW_ASSIGN_OR_RETURN(const std::string text, read_file(fs, path, kLargestFile));
  std::vector<MetricSeries> all;
  int64_t number = 0;
  for (size_t begin = 0, end = 0; (end = text.find('\n', begin)) != std::string::npos;
       begin = end + 1) {
    const std::string where = fmt::format("{}:{}", path, ++number);
    HW_ASSIGN_OR_RETURN(const Json line,
                        parse_json(std::string_view(text).substr(begin, end - begin), where));
    const bool whole = line.is_object() && line.contains("step") && line.contains("split") &&
                       line["step"].is_number_integer() && line["split"].is_string();
    if (!whole) {
      return fail_hint(Code::kInvalidArgument, "is this the metrics.jsonl of a run?",
                       "{}: not a line of metrics: it needs a step and a split", where);
    }
    for (const auto& [metric, value] : line.items()) {
      if (metric == "step" || !value.is_number()) continue;
      add(all, line["split"].get<std::string>(), metric,
          {line["step"].get<int64_t>(), value.get<double>()});
    }
  }
  return all;
}

std::vector<MetricPoint> thinned(const std::vector<MetricPoint>& points, size_t limit) {
  if (points.size() <= limit) return points;
  const size_t stretches = (limit - 2) / 2;
  std::vector<MetricPoint> kept = {points.front()};
  for (size_t i = 0; i < stretches; ++i) {
    // Of the points between the first and the last.
    const size_t inner = points.size() - 2;
    const auto begin = points.begin() + 1 + static_cast<ptrdiff_t>(i * inner / stretches);
    const auto end = points.begin() + 1 + static_cast<ptrdiff_t>((i + 1) * inner / stretches);
    auto [low, high] = std::minmax_element(
        begin, end, [](const auto& a, const auto& b) { return a.value < b.value; });
    if (high < low) std::swap(low, high);
    kept.push_back(*low);
    if (high != low) kept.push_back(*high);
  }
  kept.push_back(points.back());
  return kept;
}

}  // namespace headwater
