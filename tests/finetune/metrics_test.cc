// Metrics of classification against scikit-learn, SciPy and seqeval, edges included; thresholds.
#include "finetune/metrics.h"

#include <rapidcheck/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "finetune/answers.h"
#include "finetune/entities.h"
#include "finetune/score_metrics.h"
#include "finetune/thresholds.h"

namespace headwater {
namespace {

using Golden = nlohmann::json;

// Kept, for a loop over a part of a temporary would run over what is gone.
const Golden& golden() {
  static const Golden kept = [] {
    std::ifstream in(HW_TESTS_DIR "/golden/metrics/classification.json");
    EXPECT_TRUE(in.good());
    return Golden::parse(in);
  }();
  return kept;
}

LabelTable table_of(const Golden& rows) {
  LabelTable table(static_cast<int64_t>(rows.at(0).size()));
  for (const auto& row : rows) table.add(row.get<std::vector<uint8_t>>());
  return table;
}

std::vector<float> floats_of(const Golden& rows) {
  std::vector<float> values;
  for (const auto& row : rows) {
    for (const auto& value : row) values.push_back(value.get<float>());
  }
  return values;
}

void expect_metrics(const MetricValues& values, const Golden& expected, const std::string& name) {
  for (const auto& [metric, value] : expected.items()) {
    const auto found = find_metric(values, metric);
    ASSERT_TRUE(found) << name << ": " << metric;
    if (value.is_null()) EXPECT_TRUE(std::isnan(*found)) << name << ": " << metric;
    else EXPECT_NEAR(*found, value.get<double>(), 2e-6) << name << ": " << metric;
  }
}

void expect_labels(std::span<const Counts> counts, const Golden& expected,
                   const std::string& name) {
  for (size_t k = 0; k < counts.size(); ++k) {
    EXPECT_NEAR(counts[k].precision(), expected[0][k].get<double>(), 1e-12) << name << k;
    EXPECT_NEAR(counts[k].recall(), expected[1][k].get<double>(), 1e-12) << name << k;
    EXPECT_NEAR(counts[k].f1(), expected[2][k].get<double>(), 1e-12) << name << k;
    EXPECT_EQ(counts[k].support(), expected[3][k].get<int64_t>()) << name << k;
  }
}

TEST(Metrics, SeveralLabelsAsScikitLearn) {
  for (const auto& c : golden()["multi_label"]) {
    const std::string name = c["name"];
    const LabelTable truth = table_of(c["truth"]);
    const std::vector<float> probabilities = floats_of(c["probabilities"]);
    const Thresholds rule{{c["threshold"].get<double>()}, false};
    const LabelTable predicted = rule.apply(probabilities, truth.labels);
    MetricValues values = multi_label_metrics(truth, predicted);
    add_score_metrics(probabilities, truth, /*exclusive=*/false, values);
    expect_metrics(values, c["expected"], name);
    expect_labels(count_labels(truth, predicted), c["per_label"], name);
  }
}

TEST(Metrics, OneLabelAsScikitLearn) {
  for (const auto& c : golden()["single_label"]) {
    const std::string name = c["name"];
    const auto truth = c["truth"].get<std::vector<int32_t>>();
    const auto predicted = c["predicted"].get<std::vector<int32_t>>();
    const int64_t labels = c["labels"];
    MetricValues values = single_label_metrics(truth, predicted, labels);
    if (!c["probabilities"].is_null()) {
      add_score_metrics(floats_of(c["probabilities"]), LabelTable::from_classes(truth, labels),
                        /*exclusive=*/true, values);
    }
    expect_metrics(values, c["expected"], name);
    expect_labels(count_labels(LabelTable::from_classes(truth, labels),
                               LabelTable::from_classes(predicted, labels)),
                  c["per_label"], name);
  }
}

TEST(Metrics, CorrelationsAsSciPy) {
  for (const auto& c : golden()["correlation"]) {
    const auto a = c["a"].get<std::vector<float>>(), b = c["b"].get<std::vector<float>>();
    expect_metrics(regression_metrics(a, b),
                   {{"pearson", c["pearson"]}, {"spearman", c["spearman"]}}, "correlation");
  }
}

TEST(Metrics, EntitiesAsSeqeval) {
  for (const auto& c : golden()["entities"]) {
    EntityCounts counts;
    for (size_t i = 0; i < c["truth"].size(); ++i) {
      const auto truth = c["truth"][i].get<std::vector<std::string>>();
      const auto predicted = c["predicted"][i].get<std::vector<std::string>>();
      counts.add(std::vector<std::string_view>(truth.begin(), truth.end()),
                 std::vector<std::string_view>(predicted.begin(), predicted.end()));
    }
    expect_metrics(counts.values(), c["expected"], c["name"]);
  }
}

// Macro F1 where a label never occurs: both policies.
TEST(Metrics, AbsentLabelCountsAsZeroOrNotAtAll) {
  const LabelTable truth = table_of({{1, 0, 0, 0}, {1, 1, 0, 0}, {0, 1, 0, 0}});
  const LabelTable predicted = table_of({{1, 0, 0, 0}, {1, 1, 0, 0}, {0, 0, 0, 1}});
  expect_metrics(multi_label_metrics(truth, predicted),
                 {{"f1_micro", 0.75},
                  {"f1_macro", 0.41666666666666663},
                  {"f1_macro_present", 0.5555555555555555}},
                 "absent");
}

TEST(Metrics, ConfusionAndCoOccurrence) {
  const std::vector<int32_t> truth = {0, 1, 1, 2}, predicted = {0, 2, 1, 2};
  const auto table =
      confusion_table(LabelTable::from_classes(truth, 3), LabelTable::from_classes(predicted, 3));
  EXPECT_EQ(table, (std::vector<std::vector<int64_t>>{{1, 0, 0}, {0, 1, 1}, {0, 0, 1}}));
  const LabelTable both = table_of({{1, 1}, {0, 1}});
  EXPECT_EQ(confusion_table(both, both), (std::vector<std::vector<int64_t>>{{1, 1}, {1, 2}}));
}

TEST(Thresholds, TieAtTheThreshold) {
  const std::vector<float> probabilities = {0.5F, 0.5F - 1e-7F, 0.5F + 1e-7F};
  EXPECT_EQ((Thresholds{{0.5}, true}.apply(probabilities, 3).cells),
            (std::vector<uint8_t>{1, 0, 1}));
  EXPECT_EQ((Thresholds{{0.5}, false}.apply(probabilities, 3).cells),
            (std::vector<uint8_t>{0, 0, 1}));
}

TEST(Thresholds, RulesByName) {
  const LabelTable truth = table_of({{1, 0}, {0, 1}, {0, 0}});
  const std::vector<float> probabilities = {0.9F, 0.1F, 0.7F, 0.2F, 0.6F, 0.05F};
  EXPECT_EQ(tune_thresholds(ThresholdRule::kKote, 0.5, false, probabilities, truth).values,
            std::vector<double>{0.3});
  EXPECT_EQ(tune_thresholds(ThresholdRule::kFixed, 0.4, false, probabilities, truth).values,
            std::vector<double>{0.4});
  const Thresholds own =
      tune_thresholds(ThresholdRule::kPerLabel, 0.5, false, probabilities, truth);
  ASSERT_EQ(own.values.size(), 2U);
  EXPECT_EQ(own.apply(probabilities, 2).cells, truth.cells);
}

RC_GTEST_PROP(Thresholds, NoOtherThresholdIsBetter, ()) {
  const auto n = static_cast<size_t>(*rc::gen::inRange(1, 30));
  const auto scores = *rc::gen::container<std::vector<int>>(n, rc::gen::inRange(0, 10));
  const auto bits = *rc::gen::container<std::vector<int>>(n, rc::gen::inRange(0, 2));
  const std::vector<uint8_t> truth(bits.begin(), bits.end());
  std::vector<float> probabilities;
  for (const int score : scores) probabilities.push_back(static_cast<float>(score + 1) / 11);
  const LabelTable is{[&] {
    LabelTable table(1);
    table.cells = truth;
    return table;
  }()};
  const auto f1_at = [&](double threshold) {
    return count_labels(is, Thresholds{{threshold}, false}.apply(probabilities, 1))[0].f1();
  };
  const double best = f1_at(best_threshold(probabilities, truth));
  for (int k = 0; k < 12; ++k) RC_ASSERT(f1_at((k + 0.5) / 11) <= best + 1e-12);
}

TEST(Answers, AsTheScriptsOfSquadAndKorquad) {
  const std::vector<std::string> truth = {"the Quick, brown fox"};
  EXPECT_EQ(score_answer("quick brown fox!", truth, AnswerRule::kSquad).exact_match, 1);
  EXPECT_DOUBLE_EQ(score_answer("a brown dog", truth, AnswerRule::kSquad).f1, 0.4);
  const std::vector<std::string> korean = {"《서울》 특별시"};
  EXPECT_EQ(score_answer("서울 특별시", korean, AnswerRule::kKorquad).exact_match, 1);
  const AnswerScore particle = score_answer("서울특별시에", korean, AnswerRule::kKorquad);
  EXPECT_EQ(particle.exact_match, 0);
  EXPECT_DOUBLE_EQ(particle.f1, 10.0 / 11);
  EXPECT_EQ(score_answer("", {}, AnswerRule::kSquad).f1, 1);
  EXPECT_EQ(score_answer("x", {}, AnswerRule::kSquad).f1, 0);
  EXPECT_EQ(score_answer("", korean, AnswerRule::kKorquad).f1, 0);
}

}  // namespace
}  // namespace headwater
