// From probabilities of several labels to decisions: which ones are chosen.
//
//   fixed      every label from one given threshold on, 0.5 unless another is named
//   tuned      one threshold, the best micro F1 on the dev split
//   per-label  one for each label, its best F1 on the dev split
//   kote       0.3, as KOTE's authors have it
//
// A probability that equals the threshold does not choose the label, unless the rule is inclusive.
// Thresholds are never tuned on what is reported.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "finetune/metrics.h"

namespace headwater {

struct Thresholds {
  std::vector<double> values;  // one, or one per label
  bool inclusive = false;      // >= instead of >

  bool chooses(float probability, size_t label) const {
    const double threshold = values.size() == 1 ? values[0] : values[label];
    return inclusive ? probability >= threshold : probability > threshold;
  }
  // N rows of `labels` probabilities.
  LabelTable apply(std::span<const float> probabilities, int64_t labels) const;
};

// The threshold with the best F1 of all decisions together, half-way between two neighbouring
// probabilities; of equally good ones the highest. 0.5 where nothing is true.
double best_threshold(std::span<const float> probabilities, std::span<const uint8_t> truth);

enum class ThresholdRule { kFixed, kTuned, kPerLabel, kKote };
std::vector<std::string> threshold_rule_names();
ThresholdRule threshold_rule(std::string_view name);  // one of these names
bool is_tuned(ThresholdRule rule);

// On the dev split's probabilities [N, L], for the rules that need them.
Thresholds tune_thresholds(ThresholdRule rule, double fixed, bool inclusive,
                           std::span<const float> probabilities, const LabelTable& truth);

}  // namespace headwater
