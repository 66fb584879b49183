// predictions.jsonl of a classification, counted once, so that the metrics of any resample of its
// examples cost one pass over what was right and wrong.
//
// The definitions are those of finetune/metrics.h; a comparison uses a metric of here only where it
// gives the number that the run itself reported. What needs an order of the scores (AUROC, average
// precision, Spearman) is not here.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "finetune/metrics.h"
#include "io/file.h"

namespace headwater {

class TestPredictions {
 public:
  // Reads a single- or multi-label classification. Labels are given by index or by name.
  static Result<TestPredictions> read(FileSystem& fs, const std::string& path, bool multi_label,
                                      const std::vector<std::string>& labels);

  int64_t examples() const { return static_cast<int64_t>(truth_.size()); }
  int64_t labels() const { return labels_; }
  // True and chosen labels of an example, in rising order.
  const std::vector<int32_t>& truth(int64_t example) const { return truth_[index(example)]; }
  const std::vector<int32_t>& predicted(int64_t example) const {
    return predicted_[index(example)];
  }
  // F1 of the example's own labels; of a single-label one 1 or 0.
  double example_f1(int64_t example) const { return f1_[index(example)]; }

  // accuracy, exact_match, precision_micro ...: what values() gives, before F1 of every label.
  const std::vector<std::string>& metric_names() const { return names_; }
  // Weights per example, not negative and not all 0; out: the metrics, then F1 per label.
  void values(std::span<const int32_t> weights, std::span<double> out) const;

 private:
  static size_t index(int64_t example) { return static_cast<size_t>(example); }
  Result<> add(const std::string& line, const std::string& where,
               const std::vector<std::string>& labels);
  std::vector<Counts> counts(std::span<const int32_t> weights) const;
  MetricValues metrics(std::span<const int32_t> weights, std::span<const Counts> counts) const;

  bool multi_label_ = false;
  int64_t labels_ = 0;
  std::vector<std::string> names_;
  std::vector<std::vector<int32_t>> truth_, predicted_;
  // Per example: F1 and correlation of its labels, the share of labels that are as they should be,
  // and whether all are.
  std::vector<double> f1_, correlation_, agreement_, right_;
};

}  // namespace headwater
