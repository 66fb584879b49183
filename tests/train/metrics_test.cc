// Pre-training metrics against TensorFlow's, and properties of the accumulators.
#include "train/metrics.h"

#include <cmath>
#include <map>

#include "base/threefry.h"
#include "golden.h"

namespace headwater {
namespace {

using Floats = std::vector<float>;
using Ints = std::vector<int32_t>;

std::map<std::string, double> by_name(const ElectraMetrics& metrics) {
  const MetricValues values = metrics.values();
  return {values.begin(), values.end()};
}

void add_batch(ElectraMetrics& metrics, const nlohmann::json& batch, int64_t seq_length) {
  const auto true_ids = batch["true_ids"].get<Ints>();
  const auto predicted = batch["predicted"].get<Ints>();
  const auto sampled = batch["sampled"].get<Ints>();
  const auto losses = batch["losses"].get<Floats>();
  const auto weights = batch["weights"].get<Floats>();
  metrics.add(GeneratorOutputs{true_ids, predicted, sampled, losses, weights});
  const auto logits = batch["logits"].get<Floats>();
  const auto labels = batch["labels"].get<Ints>();
  const auto mask = batch["mask"].get<Ints>();
  metrics.add(DiscriminatorOutputs{seq_length, logits, labels, mask});
}

TEST(ElectraMetrics, EqualTensorFlowOverThreeBatches) {
  const auto golden = load_golden("metrics/metrics.json");
  for (const bool google : {true, false}) {
    ElectraMetrics metrics(google);
    for (const auto& batch : golden["batches"]) add_batch(metrics, batch, golden["seq_length"]);
    auto expected = golden["expected"].get<std::map<std::string, double>>();
    if (!google) expected["disc_auc"] = golden["exact_auc"];
    auto values = by_name(metrics);
    for (const auto& [name, value] : expected) EXPECT_NEAR(values.at(name), value, 1e-6) << name;
    metrics.reset();
    EXPECT_TRUE(metrics.values().empty());
  }
}

TEST(ElectraMetrics, ReportsOnlyWhatThereIs) {
  ElectraMetrics metrics;
  EXPECT_TRUE(metrics.values().empty());
  const Ints ids = {7, 8};
  const Floats losses = {1.0f, 3.0f}, weights = {1.0f, 0.0f};
  metrics.add(GeneratorOutputs{ids, ids, {}, losses, weights});
  auto values = by_name(metrics);
  EXPECT_EQ(values.size(), 2u);
  EXPECT_EQ(values["masked_lm_loss"], 1);  // the unused slot does not count
  EXPECT_EQ(values["masked_lm_accuracy"], 1);

  // Nothing replaced: no AUC, recall and precision 0, no NaN anywhere.
  const Floats logits = {-1, -2, 50, -1000};
  const Ints labels = {0, 0, 0, 0}, mask = {1, 1, 0, 1};
  metrics.add(DiscriminatorOutputs{2, logits, labels, mask});
  values = by_name(metrics);
  EXPECT_FALSE(values.contains("disc_auc"));
  EXPECT_EQ(values["disc_recall"], 0);
  EXPECT_EQ(values["disc_precision"], 0);
  EXPECT_EQ(values["disc_accuracy"], 1);
  for (const auto& [name, value] : values) EXPECT_TRUE(std::isfinite(value)) << name;
}

TEST(Auc, ExactAndThresholdsAgreeOnSpreadScores) {
  RandomStream random(Key::from_seed(3));
  ExactAuc exact;
  ThresholdAuc thresholds;
  for (int i = 0; i < 20000; ++i) {
    const bool positive = random.uniform() < 0.3f;
    const float score = positive ? std::sqrt(random.uniform()) : random.uniform();
    exact.add(score, positive);
    thresholds.add(score, positive);
  }
  EXPECT_NEAR(*exact.value(), 2.0 / 3, 0.01);
  EXPECT_NEAR(thresholds.value(), *exact.value(), 1e-3);
}

TEST(Auc, ExactAtTheEnds) {
  ExactAuc auc;
  auc.add(1, true);
  EXPECT_EQ(auc.value(), std::nullopt);
  auc.add(0, false);
  EXPECT_EQ(auc.value(), 1.0);
  auc.add(1, false);
  EXPECT_EQ(auc.value(), 0.75);  // one win, one tie
  auc.add(2, false);
  EXPECT_EQ(auc.value(), 0.5);
}

TEST(Entropy, BinaryForms) {
  EXPECT_NEAR(binary_cross_entropy(0, true), std::log(2.0), 1e-15);
  EXPECT_NEAR(binary_cross_entropy(1000, false), 1000, 1e-9);
  EXPECT_NEAR(binary_cross_entropy(-1000, false), 0, 1e-9);
  EXPECT_NEAR(binary_entropy(0.5), std::log(2.0), 1e-15);
  EXPECT_EQ(binary_entropy(0), 0);
  EXPECT_EQ(binary_entropy(1), 0);
}

// Case B054.
TEST(DiscriminatorHealth, WarnsAfterAThousandStepsOfZeroRecall) {
  DiscriminatorHealth health;
  int64_t step = 0;
  for (; step < 1000; step += 100) EXPECT_FALSE(health.observe(step, 50, 0)) << step;
  const auto warning = health.observe(step, 50, 0);
  ASSERT_TRUE(warning);
  EXPECT_NE(warning->find("for 1000 steps (recall 0)"), std::string::npos);
  EXPECT_FALSE(health.observe(step + 100, 50, 0));  // said once
  EXPECT_FALSE(health.observe(step + 200, 50, 3));  // recovered
  EXPECT_FALSE(health.observe(step + 300, 50, 0));
  EXPECT_FALSE(health.observe(step + 1299, 50, 0));
  EXPECT_TRUE(health.observe(step + 1300, 50, 0));
}

TEST(DiscriminatorHealth, SilentWhereNothingWasReplaced) {
  DiscriminatorHealth health(10);
  for (int64_t step = 0; step < 100; ++step) EXPECT_FALSE(health.observe(step, 0, 0));
}

}  // namespace
}  // namespace headwater
