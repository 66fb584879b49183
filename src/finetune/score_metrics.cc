#include "finetune/score_metrics.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace headwater {
namespace {

std::vector<size_t> descending(std::span<const float> scores) {
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  return order;
}

// Places in the order of values from 1; equal values share the mean of theirs.
std::vector<double> ranks(std::span<const float> values) {
  const std::vector<size_t> order = descending(values);
  std::vector<double> result(values.size());
  for (size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    const double rank = static_cast<double>(begin + end + 1) / 2;
    for (size_t i = begin; i < end; ++i) result[order[i]] = rank;
  }
  return result;
}

std::optional<double> correlation(std::span<const double> a, std::span<const double> b) {
  const auto n = static_cast<double>(a.size());
  const double mean_a = std::accumulate(a.begin(), a.end(), 0.0) / n;
  const double mean_b = std::accumulate(b.begin(), b.end(), 0.0) / n;
  double ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean_a) * (b[i] - mean_b);
    aa += (a[i] - mean_a) * (a[i] - mean_a);
    bb += (b[i] - mean_b) * (b[i] - mean_b);
  }
  if (aa <= 0 || bb <= 0) return std::nullopt;
  return ab / std::sqrt(aa * bb);
}

std::vector<float> column(std::span<const float> table, size_t width, size_t k) {
  std::vector<float> values;
  for (size_t i = k; i < table.size(); i += width) values.push_back(table[i]);
  return values;
}

// -log of the probability of what is true; a probability is held off 0 and 1 as by scikit-learn.
double log_loss(std::span<const float> probabilities, const LabelTable& truth, bool exclusive) {
  constexpr double kLeast = std::numeric_limits<float>::epsilon();
  WeightedMean loss;
  for (size_t i = 0; i < truth.cells.size(); ++i) {
    const double p = std::clamp(static_cast<double>(probabilities[i]), kLeast, 1 - kLeast);
    if (truth.cells[i] != 0) loss.add(-std::log(p));
    else if (!exclusive) loss.add(-std::log1p(-p));
  }
  return loss.weight() > 0 ? loss.value() : kUndefined;
}

}  // namespace

std::optional<double> area_under_roc(std::span<const float> scores,
                                     std::span<const uint8_t> truth) {
  ExactAuc area;
  for (size_t i = 0; i < scores.size(); ++i) area.add(scores[i], truth[i] != 0);
  return area.value();
}

std::optional<double> average_precision(std::span<const float> scores,
                                        std::span<const uint8_t> truth) {
  const auto positives = static_cast<double>(std::ranges::count(truth, 1));
  if (positives == 0) return std::nullopt;
  const std::vector<size_t> order = descending(scores);
  double found = 0, area = 0;
  for (size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    double more = 0;
    for (; end < order.size() && scores[order[end]] == scores[order[begin]]; ++end)
      more += truth[order[end]];
    found += more;
    area += found / static_cast<double>(end) * more / positives;
  }
  return area;
}

std::optional<double> pearson_correlation(std::span<const float> a, std::span<const float> b) {
  return correlation(std::vector<double>(a.begin(), a.end()),
                     std::vector<double>(b.begin(), b.end()));
}

std::optional<double> spearman_correlation(std::span<const float> a, std::span<const float> b) {
  return correlation(ranks(a), ranks(b));
}

void add_score_metrics(std::span<const float> probabilities, const LabelTable& truth,
                       bool exclusive, MetricValues& values) {
  const auto width = static_cast<size_t>(truth.labels);
  WeightedMean area, precision;
  for (size_t k = exclusive && width == 2 ? 1 : 0; k < width; ++k) {
    const std::vector<float> scores = column(probabilities, width, k);
    std::vector<uint8_t> is;
    for (size_t i = k; i < truth.cells.size(); i += width) is.push_back(truth.cells[i]);
    if (const auto value = area_under_roc(scores, is)) area.add(*value);
    if (const auto value = average_precision(scores, is)) precision.add(*value);
  }
  values.emplace_back("auroc_macro", area.weight() > 0 ? area.value() : kUndefined);
  values.emplace_back("average_precision_macro",
                      precision.weight() > 0 ? precision.value() : kUndefined);
  values.emplace_back("log_loss", log_loss(probabilities, truth, exclusive));
}

MetricValues regression_metrics(std::span<const float> truth, std::span<const float> predicted) {
  WeightedMean square;
  for (size_t i = 0; i < truth.size(); ++i) {
    const double difference = static_cast<double>(truth[i]) - static_cast<double>(predicted[i]);
    square.add(difference * difference);
  }
  return {{"mse", square.value()},
          {"pearson", pearson_correlation(truth, predicted).value_or(kUndefined)},
          {"spearman", spearman_correlation(truth, predicted).value_or(kUndefined)}};
}

}  // namespace headwater
