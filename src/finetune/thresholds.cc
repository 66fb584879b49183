#include "finetune/thresholds.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace headwater {
namespace {

constexpr double kKoteThreshold = 0.3;
constexpr std::array kRuleNames = {"fixed", "tuned", "per-label", "kote"};

}  // namespace

LabelTable Thresholds::apply(std::span<const float> probabilities, int64_t labels) const {
  LabelTable table(labels);
  table.cells.resize(probabilities.size());
  for (size_t i = 0; i < probabilities.size(); ++i)
    table.cells[i] = chooses(probabilities[i], i % static_cast<size_t>(labels)) ? 1 : 0;
  return table;
}

double best_threshold(std::span<const float> probabilities, std::span<const uint8_t> truth) {
  const auto positives = static_cast<double>(std::ranges::count(truth, 1));
  std::vector<size_t> order(probabilities.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, [&](size_t a, size_t b) {
    return probabilities[a] > probabilities[b] || (probabilities[a] == probabilities[b] && a < b);
  });
  double best = 0.5, best_f1 = 0, found = 0;
  for (size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    const double here = probabilities[order[begin]];
    for (; end < order.size() && probabilities[order[end]] == probabilities[order[begin]]; ++end)
      found += truth[order[end]];
    const double f1 = 2 * found / (static_cast<double>(end) + positives);
    if (f1 <= best_f1) continue;
    best_f1 = f1;
    const double next = end < order.size() ? probabilities[order[end]] : 0;
    best = (here + next) / 2;
  }
  return best;
}

std::vector<std::string> threshold_rule_names() { return {kRuleNames.begin(), kRuleNames.end()}; }

ThresholdRule threshold_rule(std::string_view name) {
  const auto* const found = std::ranges::find(kRuleNames, name);
  return found == kRuleNames.end() ? ThresholdRule::kFixed
                                   : static_cast<ThresholdRule>(found - kRuleNames.begin());
}

bool is_tuned(ThresholdRule rule) {
  return rule == ThresholdRule::kTuned || rule == ThresholdRule::kPerLabel;
}

Thresholds tune_thresholds(ThresholdRule rule, double fixed, bool inclusive,
                           std::span<const float> probabilities, const LabelTable& truth) {
  switch (rule) {
    case ThresholdRule::kFixed: return {{fixed}, inclusive};
    case ThresholdRule::kKote: return {{kKoteThreshold}, inclusive};
    case ThresholdRule::kTuned: return {{best_threshold(probabilities, truth.cells)}, inclusive};
    case ThresholdRule::kPerLabel: break;
  }
  Thresholds thresholds{{}, inclusive};
  const auto width = static_cast<size_t>(truth.labels);
  for (size_t k = 0; k < width; ++k) {
    std::vector<float> scores;
    std::vector<uint8_t> is;
    for (size_t i = k; i < probabilities.size(); i += width) {
      scores.push_back(probabilities[i]);
      is.push_back(truth.cells[i]);
    }
    thresholds.values.push_back(best_threshold(scores, is));
  }
  return thresholds;
}

}  // namespace headwater
