// metrics.jsonl read back, as curves: one series of (step, value) per split and metric.
//
// The file's form stands in train/metrics_log.h. Drawing is others' business.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/file.h"

namespace headwater {

struct MetricPoint {
  int64_t step = 0;
  double value = 0;
  friend bool operator==(const MetricPoint&, const MetricPoint&) = default;
};

struct MetricSeries {
  std::string split, metric;
  std::vector<MetricPoint> points;  // in the order of the file
};

// In order of first appearance. A value that is null or no number is left out, and so is a last
// line that a crash cut short; any other line that is not as it should be is an error that names
// it.
Result<std::vector<MetricSeries>> read_metric_series(FileSystem& fs, const std::string& path);

// At most about `limit` (4 or more) of the points, so that a curve still looks the same: the lowest
// and the highest of each of limit / 2 stretches, and the first and the last of all.
std::vector<MetricPoint> thinned(const std::vector<MetricPoint>& points, size_t limit);

}  // namespace headwater
