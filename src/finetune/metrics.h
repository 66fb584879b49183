// Metrics of decisions: which labels were chosen, against which are true. Every classification of
// the program is judged here, and nowhere twice.
//
// Definitions are scikit-learn's, a quotient without a denominator being 0 (its zero_division):
// macro F1 therefore counts a label that is neither true nor predicted as 0. f1_macro_present
// leaves such labels out; both are reported. What scores can be ranked for is score_metrics.h.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "train/metrics.h"

namespace headwater {

// A metric that the data do not define: null in files.
inline constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

// N rows of L labels, row by row; 1: the row has the label.
struct LabelTable {
  int64_t labels = 0;  // L
  std::vector<uint8_t> cells;

  LabelTable() = default;
  explicit LabelTable(int64_t width) : labels(width) {}
  // One label per row: N class indices in [0, width).
  static LabelTable from_classes(std::span<const int32_t> classes, int64_t width);
  int64_t rows() const { return labels > 0 ? static_cast<int64_t>(cells.size()) / labels : 0; }
  std::span<const uint8_t> row(int64_t i) const {
    return std::span(cells).subspan(static_cast<size_t>(i * labels), static_cast<size_t>(labels));
  }
  void add(std::span<const uint8_t> row) { cells.insert(cells.end(), row.begin(), row.end()); }
};

struct Counts {
  int64_t true_positives = 0, false_positives = 0, false_negatives = 0;
  int64_t support() const { return true_positives + false_negatives; }
  int64_t predicted() const { return true_positives + false_positives; }
  bool absent() const { return support() == 0 && predicted() == 0; }
  double precision() const;
  double recall() const;
  double f1() const;
  Counts& operator+=(const Counts& other);
};

// Both of one shape. One entry per label.
std::vector<Counts> count_labels(const LabelTable& truth, const LabelTable& predicted);

// precision_micro, recall_micro, f1_micro, precision_macro, recall_macro, f1_macro,
// f1_macro_present, f1_weighted.
void add_averages(std::span<const Counts> counts, MetricValues& values);

// One label per row: accuracy, the averages, mcc.
MetricValues single_label_metrics(std::span<const int32_t> truth,
                                  std::span<const int32_t> predicted, int64_t labels);
// Several: accuracy (share of single decisions that are right), exact_match (share of rows), the
// averages, f1_samples (mean of the rows'), mcc (mean of the rows').
MetricValues multi_label_metrics(const LabelTable& truth, const LabelTable& predicted);

// Matthews' correlation coefficient of classes (Gorodkin 2004); 0 where it is not defined.
double matthews_correlation(std::span<const int32_t> truth, std::span<const int32_t> predicted,
                            int64_t labels);

// Cell [i][j]: rows in which i is true and j predicted. Of single labels the confusion matrix, else
// what occurs together.
std::vector<std::vector<int64_t>> confusion_table(const LabelTable& truth,
                                                  const LabelTable& predicted);

// {"name": {"precision", "recall", "f1", "support"}, ..}
Json per_label_json(std::span<const Counts> counts, std::span<const std::string> names);
Json to_json(const MetricValues& values);  // a value that is not finite is null

// The value of a name; none: it is not there.
std::optional<double> find_metric(const MetricValues& values, std::string_view name);
// Whether less is better: losses and errors.
bool is_loss(std::string_view name);

}  // namespace headwater
