// Metrics of scores, before anything is decided: how well they rank, how probable the truth was,
// how numbers go with numbers. Definitions are scikit-learn's and SciPy's; a metric that the data
// do not define (a label of one class only, a constant series) is none.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "finetune/metrics.h"

namespace headwater {

// Area under the ROC curve, ties counting one half.
std::optional<double> area_under_roc(std::span<const float> scores, std::span<const uint8_t> truth);
// Sum of precision times the recall gained, over the scores from the highest down, equal ones
// together.
std::optional<double> average_precision(std::span<const float> scores,
                                        std::span<const uint8_t> truth);
// Of series of equal length.
std::optional<double> pearson_correlation(std::span<const float> a, std::span<const float> b);
std::optional<double> spearman_correlation(std::span<const float> a, std::span<const float> b);

// From probabilities f32 [N, L] of labels: auroc_macro, average_precision_macro (means over the
// labels that define them) and log_loss. Exclusive labels sum up to 1: two of them are one
// question, which the second answers.
void add_score_metrics(std::span<const float> probabilities, const LabelTable& truth,
                       bool exclusive, MetricValues& values);

// mse, pearson, spearman.
MetricValues regression_metrics(std::span<const float> truth, std::span<const float> predicted);

}  // namespace headwater
