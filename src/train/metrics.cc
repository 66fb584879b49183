#include "train/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace headwater {
namespace {

// -1e-7, 1/199, ..., 198/199, 1 + 1e-7, as TensorFlow builds them.
const std::array<float, 200>& auc_thresholds() {
  static const std::array<float, 200> thresholds = [] {
    std::array<float, 200> t{};
    for (size_t i = 1; i + 1 < t.size(); ++i)
      t[i] = static_cast<float>(static_cast<double>(i) / static_cast<double>(t.size() - 1));
    t.front() = static_cast<float>(-1e-7);
    t.back() = static_cast<float>(1.0 + 1e-7);
    return t;
  }();
  return thresholds;
}

}  // namespace

void ThresholdAuc::add(float probability, bool positive) {
  const auto& thresholds = auc_thresholds();
  const auto above = std::lower_bound(thresholds.begin(), thresholds.end(), probability);
  const auto index = static_cast<size_t>(above - thresholds.begin());
  ++(positive ? positives_ : negatives_)[index];
}

double ThresholdAuc::value() const {
  constexpr double kEpsilon = 1e-6;
  int64_t all_positives = 0, all_negatives = 0;
  for (const int64_t n : positives_) all_positives += n;
  for (const int64_t n : negatives_) all_negatives += n;
  double area = 0, last_rate = 0, last_recall = 0;
  int64_t above_positive = all_positives, above_negative = all_negatives;
  for (size_t t = 0; t < kThresholds; ++t) {
    above_positive -= positives_[t];
    above_negative -= negatives_[t];
    const double recall = (static_cast<double>(above_positive) + kEpsilon) /
                          (static_cast<double>(all_positives) + kEpsilon);
    const double rate =
        static_cast<double>(above_negative) / (static_cast<double>(all_negatives) + kEpsilon);
    if (t > 0) area += (last_rate - rate) * (last_recall + recall) / 2;
    last_rate = rate, last_recall = recall;
  }
  return area;
}

std::optional<double> ExactAuc::value() const {
  if (positives_.empty() || negatives_.empty()) return std::nullopt;
  std::vector<float> positives = positives_, negatives = negatives_;
  std::sort(positives.begin(), positives.end());
  std::sort(negatives.begin(), negatives.end());
  double wins = 0;  // negatives below each positive, ties one half
  auto below = negatives.begin(), not_above = negatives.begin();
  for (const float score : positives) {
    while (below != negatives.end() && *below < score) ++below;
    while (not_above != negatives.end() && *not_above <= score) ++not_above;
    wins +=
        0.5 * static_cast<double>((below - negatives.begin()) + (not_above - negatives.begin()));
  }
  return wins / (static_cast<double>(positives.size()) * static_cast<double>(negatives.size()));
}

double binary_cross_entropy(double logit, bool positive) {
  return std::max(logit, 0.0) - (positive ? logit : 0.0) + std::log1p(std::exp(-std::abs(logit)));
}

double binary_entropy(double p) {
  if (p <= 0 || p >= 1) return 0;
  return -(p * std::log(p) + (1 - p) * std::log1p(-p));
}

void ElectraMetrics::add(const GeneratorOutputs& batch) {
  const size_t slots = batch.true_ids.size();
  HW_CHECK(batch.predicted_ids.size() == slots && batch.losses.size() == slots &&
           batch.weights.size() == slots &&
           (batch.sampled_ids.empty() || batch.sampled_ids.size() == slots));
  for (size_t i = 0; i < slots; ++i) {
    const double weight = batch.weights[i];
    if (weight == 0) continue;
    mlm_accuracy_.add(batch.predicted_ids[i] == batch.true_ids[i] ? 1 : 0, weight);
    mlm_loss_.add(batch.losses[i], weight);
    if (!batch.sampled_ids.empty())
      sampled_accuracy_.add(batch.sampled_ids[i] == batch.true_ids[i] ? 1 : 0, weight);
  }
}

void ElectraMetrics::add_token(float logit, bool replaced, bool real) {
  if (google_compatible_) {
    const float probability = real ? 1.0f / (1.0f + std::exp(-logit)) : 0.0f;
    threshold_auc_.add(probability, replaced && real);
  }
  if (!real) return;
  if (!google_compatible_) exact_auc_.add(logit, replaced);
  const bool predicted = logit > 0;
  if (replaced) ++(predicted ? true_positives_ : false_negatives_);
  else ++(predicted ? false_positives_ : true_negatives_);
}

void ElectraMetrics::add(const DiscriminatorOutputs& batch) {
  const size_t tokens = batch.logits.size();
  const auto length = static_cast<size_t>(batch.seq_length);
  HW_CHECK(batch.labels.size() == tokens && batch.input_mask.size() == tokens && length > 0 &&
           tokens % length == 0);
  for (size_t row = 0; row < tokens; row += length) {
    double loss = 0, real_tokens = 0;
    for (size_t i = row; i < row + length; ++i) {
      const bool replaced = batch.labels[i] != 0, real = batch.input_mask[i] != 0;
      add_token(batch.logits[i], replaced, real);
      if (real) loss += binary_cross_entropy(batch.logits[i], replaced), real_tokens += 1;
    }
    disc_loss_.add(loss / (1e-6 + real_tokens));
  }
}

MetricValues ElectraMetrics::values() const {
  MetricValues values;
  if (mlm_loss_.weight() > 0) {
    values.emplace_back("masked_lm_accuracy", mlm_accuracy_.value());
    values.emplace_back("masked_lm_loss", mlm_loss_.value());
  }
  if (sampled_accuracy_.weight() > 0)
    values.emplace_back("sampled_masked_lm_accuracy", sampled_accuracy_.value());
  const int64_t tokens = true_positives_ + false_positives_ + true_negatives_ + false_negatives_;
  if (tokens == 0) return values;
  const auto share = [](int64_t part, int64_t whole) {
    return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0.0;
  };
  values.emplace_back("disc_loss", disc_loss_.value());
  if (const auto auc = google_compatible_ ? threshold_auc_.value() : exact_auc_.value(); auc)
    values.emplace_back("disc_auc", *auc);
  values.emplace_back("disc_accuracy", share(true_positives_ + true_negatives_, tokens));
  values.emplace_back("disc_precision", share(true_positives_, true_positives_ + false_positives_));
  values.emplace_back("disc_recall", share(true_positives_, replaced_tokens()));
  values.emplace_back("disc_replaced", share(replaced_tokens(), tokens));
  values.emplace_back("disc_base_entropy", binary_entropy(share(replaced_tokens(), tokens)));
  return values;
}

std::optional<std::string> DiscriminatorHealth::observe(int64_t step, int64_t replaced,
                                                        int64_t found) {
  if (found > 0) {
    silent_since_.reset();
    warned_ = false;
    return std::nullopt;
  }
  if (replaced == 0) return std::nullopt;  // nothing was there to be found
  if (!silent_since_) silent_since_ = step;
  if (warned_ || step - *silent_since_ < patience_) return std::nullopt;
  warned_ = true;
  return fmt::format(
      "the discriminator has found no replaced token for {} steps (recall 0): it calls every "
      "token original; try a lower learning rate, a stronger generator or a longer "
      "generator_warmup_steps, and check the share of [UNK] in the records",
      step - *silent_since_);
}

}  // namespace headwater
