// Statistics of pairs: golden values of scipy and statsmodels (tests/golden/statistics), and what
// must hold of any numbers.
#include "report/statistics.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/threads.h"
#include "io/file.h"

namespace headwater {
namespace {

using Numbers = std::vector<double>;

Json golden() {
  const std::string path = HW_TESTS_DIR "/golden/statistics/statistics.json";
  return parse_json(read_file(local_files(), path).value(), path).value();
}

// The interval of the mean of differences that depend on the seed alone.
Interval seed_interval(const Numbers& differences, int64_t resamples) {
  const auto n = static_cast<int64_t>(differences.size());
  return bootstrap_intervals(n, 1, 1, {.resamples = resamples},
                             [&](int64_t seed, std::span<const int32_t>, std::span<double> out) {
                               out[0] = differences[static_cast<size_t>(seed)];
                             })[0];
}

TEST(Statistics, AreThoseOfScipy) {
  const Json values = golden();
  for (const Json& set : values["pairs"]) {
    const auto d = set["differences"].get<Numbers>();
    EXPECT_DOUBLE_EQ(mean(d), set["mean"].get<double>()) << set;
    EXPECT_NEAR(*standard_deviation(d), set["deviation"].get<double>(), 1e-15) << set;
    EXPECT_DOUBLE_EQ(sign_flip_p(d, Key{}), set["p"].get<double>()) << set;
  }
  for (const Json& set : values["holm"]) {
    const Numbers adjusted = holm(set["p"].get<Numbers>());
    for (size_t i = 0; i < adjusted.size(); ++i)
      EXPECT_NEAR(adjusted[i], set["adjusted"][i].get<double>(), 1e-15) << set;
  }
  const Interval middle = percentile_interval(values["quantiles"]["values"].get<Numbers>(), 0.9);
  EXPECT_NEAR(middle.low, values["quantiles"]["interval"][0].get<double>(), 1e-15);
  EXPECT_NEAR(middle.high, values["quantiles"]["interval"][1].get<double>(), 1e-15);
}

TEST(Statistics, DrawnSignsComeNearScipysDraw) {
  const Json many = golden()["many"];
  const double p = sign_flip_p(many["differences"].get<Numbers>(), Key::from_seed(3));
  EXPECT_NEAR(p, many["p"].get<double>(), 0.003);  // three deviations of both draws
}

TEST(Statistics, BootstrapComesNearThatOfAllResamples) {
  const Json values = golden();
  for (const Json& set : values["bootstrap"]) {
    const auto d = set["differences"].get<Numbers>();
    const Interval interval = seed_interval(d, 20'000);
    const double tolerance = 0.06 * *standard_deviation(d);
    EXPECT_NEAR(interval.low, set["interval"][0].get<double>(), tolerance) << set;
    EXPECT_NEAR(interval.high, set["interval"][1].get<double>(), tolerance) << set;
  }
}

TEST(Statistics, SeedsNeededComeNearThePowerOfTheTTest) {
  const Json values = golden();
  for (const Json& set : values["seeds"]) {
    const double effect = set["effect"].get<double>(), pairs = set["pairs"].get<double>();
    const auto needed = seeds_needed(effect, 1, 1, 0.95);
    ASSERT_TRUE(needed);
    const double least = static_cast<double>(fewest_seeds(1, 0.95));
    EXPECT_NEAR(static_cast<double>(*needed), std::max(std::ceil(pairs), least), 1) << set;
  }
  EXPECT_EQ(seeds_needed(0, 1, 1, 0.95), std::nullopt);
  EXPECT_EQ(seeds_needed(0, 0, 1, 0.95), std::nullopt);
  EXPECT_EQ(seeds_needed(1e-9, 1, 1, 0.95), std::nullopt);
  EXPECT_EQ(seeds_needed(1, 0, 1, 0.95), 6);
}

TEST(Statistics, FiveSeedsCannotShowAnything) {
  EXPECT_EQ(smallest_p(5), 0.0625);
  EXPECT_EQ(sign_flip_p(Numbers{1, 2, 3, 4, 5}, Key{}), smallest_p(5));
  EXPECT_EQ(fewest_seeds(1, 0.95), 6);
  EXPECT_EQ(fewest_seeds(2, 0.95), 7);
  EXPECT_EQ(fewest_seeds(2, 1), kManySeeds);
}

TEST(Statistics, IdenticalSidesShowNothing) {
  const Numbers none(6, 0.0);
  EXPECT_EQ(sign_flip_p(none, Key{}), 1);
  EXPECT_EQ(sign_flip_p(Numbers(40, 0.0), Key{}), 1);
  EXPECT_EQ(sign_flip_p(Numbers{}, Key{}), 1);
  EXPECT_EQ(seed_interval(none, 100), (Interval{0, 0}));
}

TEST(Statistics, BootstrapIsTheSameOnAnyNumberOfThreads) {
  const auto run = [](int threads) {
    set_num_threads(threads);
    return bootstrap_intervals(3, 50, 2, {.resamples = 200, .key = Key::from_seed(5)},
                               [](int64_t seed, std::span<const int32_t> weights, auto out) {
                                 double sum = 0;
                                 for (size_t i = 0; i < weights.size(); ++i)
                                   sum += weights[i] * static_cast<double>(i % 7);
                                 out[0] = sum / 50 + static_cast<double>(seed);
                                 out[1] = -out[0];
                               });
  };
  const auto one = run(1), four = run(4);
  set_num_threads(0);
  EXPECT_EQ(one, four);
  EXPECT_NEAR(one[0].low, -one[1].high, 1e-12);
  EXPECT_LT(one[0].low, 4);
  EXPECT_GT(one[0].high, 4);
}

RC_GTEST_PROP(StatisticsProperty, PValuesAreSharesAndDoNotMindTheSignOrTheScale, ()) {
  const auto whole = *rc::gen::container<std::vector<int>>(rc::gen::inRange(-1000, 1000));
  Numbers d(whole.begin(),
            whole.begin() + static_cast<ptrdiff_t>(std::min<size_t>(12, whole.size())));
  const double p = sign_flip_p(d, Key{});
  RC_ASSERT(p > 0 && p <= 1);
  RC_ASSERT(p >= smallest_p(static_cast<int64_t>(d.size())));
  Numbers mirrored;
  for (const double x : d) mirrored.push_back(-3 * x);
  RC_ASSERT(sign_flip_p(mirrored, Key{}) == p);
}

RC_GTEST_PROP(StatisticsProperty, AShiftMovesTheInterval, ()) {
  const auto whole = *rc::gen::nonEmpty<std::vector<int8_t>>();
  const double shift = *rc::gen::inRange(-100, 100);
  Numbers d(whole.begin(), whole.end()), moved;
  for (const double x : d) moved.push_back(x + shift);
  const Interval before = seed_interval(d, 50), after = seed_interval(moved, 50);
  RC_ASSERT(before.low <= before.high);
  RC_ASSERT(std::abs(after.low - before.low - shift) < 1e-9);
  RC_ASSERT(std::abs(after.high - before.high - shift) < 1e-9);
}

RC_GTEST_PROP(StatisticsProperty, HolmKeepsTheOrderAndNeverMakesSmaller, ()) {
  const auto thousandths = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 1001));
  Numbers p;
  for (const int t : thousandths) p.push_back(t / 1000.0);
  const Numbers adjusted = holm(p);
  for (size_t i = 0; i < p.size(); ++i) {
    RC_ASSERT(adjusted[i] >= p[i] && adjusted[i] <= 1);
    for (size_t j = 0; j < p.size(); ++j)
      if (p[i] < p[j]) RC_ASSERT(adjusted[i] <= adjusted[j]);
  }
}

}  // namespace
}  // namespace headwater
