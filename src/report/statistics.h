// What may be said about the difference between two sides of an experiment that were run with the
// same seeds: its mean and spread, an interval, a p-value, and how many seeds it would take.
//
// Arithmetic on numbers, apart from what they measure. Nothing here assumes a normal distribution
// but the advice on the number of seeds. All randomness is Threefry: the same input, the same
// answer.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/threefry.h"

namespace headwater {

double mean(std::span<const double> values);  // 0 of none
// With n - 1; none of fewer than two values.
std::optional<double> standard_deviation(std::span<const double> values);

struct Interval {
  double low = 0, high = 0;
  friend bool operator==(const Interval&, const Interval&) = default;
};

// The middle `confidence` of the values, between order statistics by linear interpolation.
Interval percentile_interval(std::vector<double> values, double confidence);

// Two-sided p-value of the hypothesis that each difference might as well have had the other sign:
// the share of all 2^N assignments of signs whose mean lies at least as far from 0 as the observed
// one (Fisher's permutation test for pairs). Exact up to kExactPairs, then from kSampledSigns drawn
// assignments, of which the observed one counts as one. 1 of no differences.
inline constexpr size_t kExactPairs = 20;
inline constexpr int64_t kSampledSigns = 100'000;
double sign_flip_p(std::span<const double> differences, Key key);
// The least that it can be with so many pairs: 2^(1 - pairs).
double smallest_p(int64_t pairs);

// p-values that hold for several hypotheses at once (Holm 1979, "A simple sequentially rejective
// multiple test procedure"), in the order of the given ones.
std::vector<double> holm(std::span<const double> p_values);

struct BootstrapOptions {
  int64_t resamples = 2000;
  double confidence = 0.95;
  Key key;
};

// Puts the values of one seed into `out`, one per statistic; `weights` says how often each example
// was drawn. Called from several threads.
using SeedValues =
    std::function<void(int64_t seed, std::span<const int32_t> weights, std::span<double> out)>;

// Percentile intervals of statistics that are means over seeds, from resampling seeds and examples
// at once (Efron and Tibshirani 1993, chapters 8 and 13). A resample uses the same examples for
// every seed and on every side, so what an example adds to both sides cancels out. Few seeds make
// the interval too narrow: whether a difference is claimed is also asked of sign_flip_p.
std::vector<Interval> bootstrap_intervals(int64_t seeds, int64_t examples, int64_t statistics,
                                          const BootstrapOptions& options,
                                          const SeedValues& values);

// About how many pairs let a test of `tests` at once find the difference in four of five tries: the
// normal approximation with Guenther's correction for an estimated deviation, and at least as many
// as a permutation needs to reach 1 - confidence. None when there is no difference to be found, or
// it would take over kManySeeds.
inline constexpr int64_t kManySeeds = 1000;
std::optional<int64_t> seeds_needed(double mean_difference, double deviation, int64_t tests,
                                    double confidence);
// The latter alone: the least number of pairs with which any difference at all could be claimed.
int64_t fewest_seeds(int64_t tests, double confidence);

}  // namespace headwater
