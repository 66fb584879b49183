#include "finetune/metrics.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace headwater {
namespace {

double quotient(double numerator, double denominator) {
  return denominator > 0 ? numerator / denominator : 0;
}

double as_double(int64_t count) { return static_cast<double>(count); }

// Of one row of several labels, taken as a prediction of yes or no.
double row_correlation(std::span<const uint8_t> truth, std::span<const uint8_t> predicted) {
  int64_t both = 0, one = 0, other = 0;
  for (size_t i = 0; i < truth.size(); ++i) {
    both += truth[i] & predicted[i];
    one += truth[i];
    other += predicted[i];
  }
  const double n = as_double(static_cast<int64_t>(truth.size()));
  const double t = as_double(one), p = as_double(other);
  return quotient(as_double(both) * n - t * p, std::sqrt(t * (n - t) * p * (n - p)));
}

}  // namespace

LabelTable LabelTable::from_classes(std::span<const int32_t> classes, int64_t width) {
  LabelTable table(width);
  table.cells.assign(classes.size() * static_cast<size_t>(width), 0);
  for (size_t i = 0; i < classes.size(); ++i)
    table.cells[i * static_cast<size_t>(width) + static_cast<size_t>(classes[i])] = 1;
  return table;
}

double Counts::precision() const {
  return quotient(as_double(true_positives), as_double(predicted()));
}
double Counts::recall() const { return quotient(as_double(true_positives), as_double(support())); }
double Counts::f1() const {
  return quotient(2 * as_double(true_positives), as_double(support() + predicted()));
}

Counts& Counts::operator+=(const Counts& other) {
  true_positives += other.true_positives;
  false_positives += other.false_positives;
  false_negatives += other.false_negatives;
  return *this;
}

std::vector<Counts> count_labels(const LabelTable& truth, const LabelTable& predicted) {
  const auto width = static_cast<size_t>(truth.labels);
  std::vector<Counts> counts(width);
  for (size_t i = 0; i < truth.cells.size(); ++i) {
    Counts& label = counts[i % width];
    const bool is = truth.cells[i] != 0, said = predicted.cells[i] != 0;
    if (is && said) ++label.true_positives;
    else if (said) ++label.false_positives;
    else if (is) ++label.false_negatives;
  }
  return counts;
}

void add_averages(std::span<const Counts> counts, MetricValues& values) {
  Counts all;
  WeightedMean precision, recall, f1, present, weighted;
  for (const Counts& label : counts) {
    all += label;
    precision.add(label.precision());
    recall.add(label.recall());
    f1.add(label.f1());
    if (!label.absent()) present.add(label.f1());
    weighted.add(label.f1(), as_double(label.support()));
  }
  values.insert(values.end(), {{"precision_micro", all.precision()},
                               {"recall_micro", all.recall()},
                               {"f1_micro", all.f1()},
                               {"precision_macro", precision.value()},
                               {"recall_macro", recall.value()},
                               {"f1_macro", f1.value()},
                               {"f1_macro_present", present.value()},
                               {"f1_weighted", weighted.value()}});
}

double matthews_correlation(std::span<const int32_t> truth, std::span<const int32_t> predicted,
                            int64_t labels) {
  std::vector<double> t(static_cast<size_t>(labels)), p(static_cast<size_t>(labels));
  double right = 0;
  for (size_t i = 0; i < truth.size(); ++i) {
    t[static_cast<size_t>(truth[i])] += 1;
    p[static_cast<size_t>(predicted[i])] += 1;
    right += truth[i] == predicted[i] ? 1 : 0;
  }
  const auto n = static_cast<double>(truth.size());
  double tp = 0, tt = 0, pp = 0;
  for (size_t k = 0; k < t.size(); ++k) {
    tp += t[k] * p[k];
    tt += t[k] * t[k];
    pp += p[k] * p[k];
  }
  return quotient(right * n - tp, std::sqrt((n * n - tt) * (n * n - pp)));
}

MetricValues single_label_metrics(std::span<const int32_t> truth,
                                  std::span<const int32_t> predicted, int64_t labels) {
  WeightedMean right;
  for (size_t i = 0; i < truth.size(); ++i) right.add(truth[i] == predicted[i] ? 1 : 0);
  MetricValues values = {{"accuracy", right.value()}};
  add_averages(count_labels(LabelTable::from_classes(truth, labels),
                            LabelTable::from_classes(predicted, labels)),
               values);
  values.emplace_back("mcc", matthews_correlation(truth, predicted, labels));
  return values;
}

MetricValues multi_label_metrics(const LabelTable& truth, const LabelTable& predicted) {
  WeightedMean exact, right, samples, correlation;
  for (int64_t i = 0; i < truth.rows(); ++i) {
    const auto is = truth.row(i), said = predicted.row(i);
    Counts row;
    int64_t equal = 0;
    for (size_t k = 0; k < is.size(); ++k) {
      row.true_positives += is[k] & said[k];
      row.false_positives += (1 - is[k]) & said[k];
      row.false_negatives += is[k] & (1 - said[k]);
      equal += is[k] == said[k] ? 1 : 0;
    }
    right.add(as_double(equal) / as_double(truth.labels), as_double(truth.labels));
    exact.add(equal == truth.labels ? 1 : 0);
    samples.add(row.f1());
    correlation.add(row_correlation(is, said));
  }
  MetricValues values = {{"accuracy", right.value()}, {"exact_match", exact.value()}};
  add_averages(count_labels(truth, predicted), values);
  values.emplace_back("f1_samples", samples.value());
  values.emplace_back("mcc", correlation.value());
  return values;
}

std::vector<std::vector<int64_t>> confusion_table(const LabelTable& truth,
                                                  const LabelTable& predicted) {
  const auto width = static_cast<size_t>(truth.labels);
  std::vector<std::vector<int64_t>> table(width, std::vector<int64_t>(width));
  for (int64_t i = 0; i < truth.rows(); ++i) {
    const auto is = truth.row(i), said = predicted.row(i);
    for (size_t a = 0; a < width; ++a) {
      for (size_t b = 0; is[a] != 0 && b < width; ++b) table[a][b] += said[b];
    }
  }
  return table;
}

Json per_label_json(std::span<const Counts> counts, std::span<const std::string> names) {
  Json object = Json::object();
  for (size_t i = 0; i < counts.size() && i < names.size(); ++i) {
    object[names[i]] = {{"precision", counts[i].precision()},
                        {"recall", counts[i].recall()},
                        {"f1", counts[i].f1()},
                        {"support", counts[i].support()}};
  }
  return object;
}

Json to_json(const MetricValues& values) {
  Json object = Json::object();
  for (const auto& [name, value] : values)
    object[name] = std::isfinite(value) ? Json(value) : Json(nullptr);
  return object;
}

std::optional<double> find_metric(const MetricValues& values, std::string_view name) {
  for (const auto& [known, value] : values) {
    if (known == name) return value;
  }
  return std::nullopt;
}

bool is_loss(std::string_view name) {
  return name == "loss" || name == "log_loss" || name == "mse";
}

}  // namespace headwater
