// Metrics of ELECTRA pre-training, accumulated over the steps of an interval or the batches of an
// evaluation (definitions: google-research/electra, run_pretraining's metric function).
//
// Host arithmetic in double on what a step returns; nothing here runs a model.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace headwater {

// Name and value, in the order in which they are reported. A metric without any data is left out.
using MetricValues = std::vector<std::pair<std::string, double>>;

class WeightedMean {
 public:
  WeightedMean() = default;
  WeightedMean(double sum, double weight) : sum_(sum), weight_(weight) {}
  void add(double value, double weight = 1) { sum_ += value * weight, weight_ += weight; }
  void add(const WeightedMean& other) { sum_ += other.sum_, weight_ += other.weight_; }
  double sum() const { return sum_; }
  double value() const { return weight_ > 0 ? sum_ / weight_ : 0; }  // 0 without data
  double weight() const { return weight_; }

 private:
  double sum_ = 0, weight_ = 0;
};

// Area under the ROC curve from counts at 200 fixed thresholds, by trapezoids: what TensorFlow's
// metric gives.
class ThresholdAuc {
 public:
  void add(float probability, bool positive);
  double value() const;

 private:
  static constexpr int kThresholds = 200;
  // Entry k counts the scores above exactly k of the thresholds.
  std::array<int64_t, kThresholds + 1> positives_{}, negatives_{};
};

// The area exactly: the chance that a positive outranks a negative, ties counting one half. Keeps
// all scores: 4 bytes each.
class ExactAuc {
 public:
  void add(float score, bool positive) { (positive ? positives_ : negatives_).push_back(score); }
  std::optional<double> value() const;  // none without both classes

 private:
  std::vector<float> positives_, negatives_;
};

// One batch as a step returns it. N slots per sequence: [B * N]; unused slots have weight 0.
struct GeneratorOutputs {
  std::span<const int32_t> true_ids;
  std::span<const int32_t> predicted_ids;  // arg max of the logits
  std::span<const int32_t> sampled_ids;    // empty: no discriminator is trained
  std::span<const float> losses;           // cross-entropy per slot
  std::span<const float> weights;
};

// [B * T]
struct DiscriminatorOutputs {
  int64_t seq_length = 0;  // T
  std::span<const float> logits;
  std::span<const int32_t> labels;      // 1: replaced
  std::span<const int32_t> input_mask;  // 1: a real token
};

class ElectraMetrics {
 public:
  // google_compatible: disc_auc by thresholds over all positions, padding being negatives with
  // score 0, which flatters it; otherwise exactly over the real tokens.
  explicit ElectraMetrics(bool google_compatible = false) : google_compatible_(google_compatible) {}

  void add(const GeneratorOutputs& batch);
  void add(const DiscriminatorOutputs& batch);
  void reset() { *this = ElectraMetrics(google_compatible_); }

  // masked_lm_accuracy, masked_lm_loss, sampled_masked_lm_accuracy, disc_loss, disc_auc,
  // disc_accuracy, disc_precision, disc_recall, disc_replaced (share of the real tokens),
  // disc_base_entropy (loss of a constant guess at that share).
  MetricValues values() const;

  int64_t replaced_tokens() const { return true_positives_ + false_negatives_; }
  int64_t found_tokens() const { return true_positives_; }

 private:
  void add_token(float logit, bool replaced, bool real);
  bool google_compatible_;
  WeightedMean mlm_accuracy_, mlm_loss_, sampled_accuracy_, disc_loss_;
  ThresholdAuc threshold_auc_;
  ExactAuc exact_auc_;
  int64_t true_positives_ = 0, false_positives_ = 0, true_negatives_ = 0, false_negatives_ = 0;
};

// Binary cross-entropy of a logit against a label, without overflow.
double binary_cross_entropy(double logit, bool positive);
// Entropy of a coin in nats: the loss of the best constant guess at a share of `p` positives.
double binary_entropy(double p);

// Notices a discriminator that calls every token original: recall 0 over many steps, which no loss
// curve shows.
class DiscriminatorHealth {
 public:
  explicit DiscriminatorHealth(int64_t patience = 1000) : patience_(patience) {}
  // After `step` steps: replaced tokens since the last call, and how many of them were found. Gives
  // a warning when none was found for `patience` steps, once until some are found again.
  std::optional<std::string> observe(int64_t step, int64_t replaced, int64_t found);

 private:
  int64_t patience_;
  std::optional<int64_t> silent_since_;
  bool warned_ = false;
};

}  // namespace headwater
