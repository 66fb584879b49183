// The processors against transformers' (tests/golden/generate/make.py), and the draw by what its
// distribution must be.
#include "generate/sampling.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/json.h"
#include "io/file.h"

namespace headwater {
namespace {

constexpr float kImpossible = -std::numeric_limits<float>::infinity();

using Logits = std::vector<float>;

Json golden(const std::string& name) {
  const std::string path = std::string(HW_TESTS_DIR) + "/golden/generate/" + name;
  return *parse_json(*read_file(local_files(), path), path);
}

Logits logits_of(const Json& list) {
  Logits logits;
  for (const Json& x : list) logits.push_back(x.is_null() ? kImpossible : x.get<float>());
  return logits;
}

void process(const Json& test, Logits& logits) {
  const auto tokens = test["tokens"].get<std::vector<int32_t>>();
  const std::string name = test["processor"];
  if (name == "all") {
    apply_repetition_penalty(logits, tokens, test["repetition_penalty"]);
    apply_temperature(logits, test["temperature"]);
    keep_top_k(logits, test["top_k"]);
    keep_top_p(logits, test["top_p"]);
  } else if (name == "repetition_penalty") {
    apply_repetition_penalty(logits, tokens, test["value"]);
  } else if (name == "temperature") {
    apply_temperature(logits, test["value"]);
  } else if (name == "top_k") {
    keep_top_k(logits, test["value"]);
  } else {
    keep_top_p(logits, test["value"]);
  }
}

// Among equal logits at the edge of top-p, torch's sort (which is not stable) decides which stay:
// there only their number can be compared. Other tokens are compared one by one.
void expect_same(const Logits& found, const Logits& expected, const Logits& before) {
  float edge = -kImpossible;
  for (size_t i = 0; i < expected.size(); ++i)
    if (std::isfinite(expected[i])) edge = std::min(edge, expected[i]);
  const auto tied = [&](size_t i) {
    return std::ranges::count(before, before[i]) > 1 &&
           (found[i] == kImpossible || std::fabs(found[i] - edge) <= 1e-6f * std::fabs(edge));
  };
  EXPECT_EQ(std::ranges::count(found, kImpossible), std::ranges::count(expected, kImpossible));
  for (size_t i = 0; i < expected.size(); ++i) {
    if (tied(i) && (found[i] == kImpossible) != (expected[i] == kImpossible)) {
      const float logit = std::max(found[i], expected[i]);  // of the side on which it stays
      EXPECT_NEAR(logit, edge, 1e-6f * std::max(1.0f, std::fabs(edge))) << i;
    } else if (std::isfinite(expected[i])) {
      EXPECT_NEAR(found[i], expected[i], 1e-6f * std::max(1.0f, std::fabs(expected[i]))) << i;
    } else {
      EXPECT_EQ(found[i], expected[i]) << i;
    }
  }
}

TEST(Sampling, ProcessorsAreThoseOfTransformers) {
  const Json tests = golden("processors.json");
  for (const Json& test : tests) {
    SCOPED_TRACE(test["processor"].dump() + (test.contains("value") ? test["value"].dump() : ""));
    Logits logits = logits_of(test["before"]);
    const Logits expected = logits_of(test["after"]);
    process(test, logits);
    expect_same(logits, expected, logits_of(test["before"]));
  }
  EXPECT_EQ(tests.size(), 45u);
}

TEST(Sampling, ChoosesTheLowestOfTheMostLikely) {
  EXPECT_EQ(most_likely(Logits{0, 3, 1, 3}), 1);
  EXPECT_EQ(most_likely(Logits{kImpossible, kImpossible, -5}), 2);
  Logits logits{0, 3, 1, 3};
  EXPECT_EQ(choose_token(logits, {}, {}, Key(), 0), 1);
  // A penalty makes another one the most likely.
  logits = {2.9f, 3, 1, 2};
  const std::vector<int32_t> seen = {1, 1, -4, 99};
  EXPECT_EQ(choose_token(logits, seen, {.repetition_penalty = 1.2}, Key(), 0), 0);
}

TEST(Sampling, KnowsWhenThereIsNothingToChoose) {
  EXPECT_TRUE(has_choice(Logits{0, kImpossible}));
  EXPECT_FALSE(has_choice(Logits{}));
  EXPECT_FALSE(has_choice(Logits{kImpossible, kImpossible}));
  EXPECT_FALSE(has_choice(Logits{1, std::numeric_limits<float>::quiet_NaN()}));
  EXPECT_FALSE(has_choice(Logits{1, std::numeric_limits<float>::infinity()}));
}

TEST(Sampling, TokensByTheSumOfProbabilities) {
  const Logits logits{std::log(1.0f), kImpossible, std::log(2.0f), std::log(5.0f), kImpossible};
  EXPECT_EQ(token_at(logits, 0), 0);
  EXPECT_EQ(token_at(logits, 0.124), 0);
  EXPECT_EQ(token_at(logits, 0.126), 2);
  EXPECT_EQ(token_at(logits, 0.374), 2);
  EXPECT_EQ(token_at(logits, 0.376), 3);
  EXPECT_EQ(token_at(logits, std::nextafter(1.0, 0.0)), 3);
}

// Draws by number, chi-square against the softmax: 24 degrees of freedom, and the chance of more
// than 60 is under 1e-4; the draws are always the same.
TEST(Sampling, DrawsFollowTheDistribution) {
  constexpr size_t kTokens = 25;
  constexpr int64_t kDraws = 40000;
  Logits logits;
  for (size_t i = 0; i < kTokens; ++i) logits.push_back(std::sin(static_cast<float>(i)) * 1.5f);
  const SamplingOptions options{.temperature = 0.8};
  std::vector<double> expected;
  for (const float x : logits) expected.push_back(std::exp(double{x} / 0.8));
  const double total = std::accumulate(expected.begin(), expected.end(), 0.0);
  for (double& x : expected) x *= static_cast<double>(kDraws) / total;
  for (const uint64_t seed : {1u, 2u, 3u}) {
    std::vector<double> counts(kTokens);
    for (int64_t i = 0; i < kDraws; ++i) {
      Logits copy = logits;
      const Key key = Key::from_seed(seed).fold_in(static_cast<uint32_t>(i / 100));
      ++counts[static_cast<size_t>(
          choose_token(copy, {}, options, key, static_cast<uint64_t>(i % 100)))];
    }
    double chi_square = 0;
    for (size_t i = 0; i < kTokens; ++i)
      chi_square += std::pow(counts[i] - expected[i], 2) / expected[i];
    EXPECT_LT(chi_square, 60) << "seed " << seed;
    EXPECT_GT(chi_square, 6) << "seed " << seed;
  }
}

RC_GTEST_PROP(Sampling, WhatIsCutOffIsNeverDrawn, (uint64_t seed)) {
  RandomStream random(Key::from_seed(seed));
  const auto size = 1 + random.below(40);
  Logits logits(size);
  for (float& x : logits) x = static_cast<float>(random.below(9)) - 4;
  const auto k = static_cast<int64_t>(1 + random.below(10));
  const double p = double{random.uniform()};
  const Logits before = logits;
  const int32_t token = choose_token(logits, {}, {.temperature = 1, .top_k = k, .top_p = p},
                                     Key::from_seed(seed + 1), 0);
  const auto at = [&](int32_t id) { return before[static_cast<size_t>(id)]; };
  RC_ASSERT(logits[static_cast<size_t>(token)] > kImpossible);
  const auto more_likely = std::ranges::count_if(before, [&](float x) { return x > at(token); });
  RC_ASSERT(more_likely < k);
  // Those that are kept, less the least likely of them, do not reach p.
  double mass = 0, least = 0, total = 0;
  for (size_t i = 0; i < size; ++i) {
    const double weight = std::exp(double{before[i]});
    const bool in_k = std::ranges::count_if(before, [&](float x) { return x > before[i]; }) < k;
    if (in_k) total += weight;
    if (logits[i] == kImpossible) continue;
    RC_ASSERT(in_k);
    mass += weight;
    least = least == 0 ? weight : std::min(least, weight);
  }
  RC_ASSERT((mass - least) / total < p + 1e-9);
  RC_ASSERT(mass / total > p - 1e-9);
}

TEST(Sampling, SmallTemperaturesAreGreedy) {
  for (const double temperature : {0.0, 1e-300, 1e-7}) {
    Logits logits{-3, 30, 29.99f};
    EXPECT_EQ(choose_token(logits, {}, {.temperature = temperature}, Key(), 0), 1);
  }
}

}  // namespace
}  // namespace headwater
