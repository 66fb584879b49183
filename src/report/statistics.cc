#include "report/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/threads.h"

namespace headwater {
namespace {

// The quantile of the standard normal distribution, by halving: 1e-12 is more than advice needs.
double normal_quantile(double share) {
  double low = -40, high = 40;
  while (high - low > 1e-12) {
    const double middle = (low + high) / 2;
    (0.5 * std::erfc(-middle / std::sqrt(2.0)) < share ? low : high) = middle;
  }
  return low;
}

// The sum of the differences with their signs as the bits say; the first keeps its own.
template <class Bit>
double flipped_sum(std::span<const double> differences, const Bit& bit) {
  double sum = differences[0];
  for (size_t i = 1; i < differences.size(); ++i)
    sum += bit(i - 1) ? -differences[i] : differences[i];
  return sum;
}

}  // namespace

double mean(std::span<const double> values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::optional<double> standard_deviation(std::span<const double> values) {
  if (values.size() < 2) return std::nullopt;
  const double center = mean(values);
  double sum = 0;
  for (const double value : values) sum += (value - center) * (value - center);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

Interval percentile_interval(std::vector<double> values, double confidence) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  const auto quantile = [&](double share) {
    const double place = share * static_cast<double>(values.size() - 1);
    const auto below = static_cast<size_t>(place);
    const size_t above = std::min(below + 1, values.size() - 1);
    return std::lerp(values[below], values[above], place - static_cast<double>(below));
  };
  return {quantile((1 - confidence) / 2), quantile((1 + confidence) / 2)};
}

double sign_flip_p(std::span<const double> differences, Key key) {
  const size_t n = differences.size();
  if (n == 0) return 1;
  double sum = 0, size = 0;
  for (const double d : differences) sum += d, size += std::abs(d);
  // Sums of the same numbers in another order differ in their last bits.
  const double bound = std::abs(sum) - 1e-12 * size;
  int64_t as_far = 0;
  if (n <= kExactPairs) {
    // The first sign is held: the other half of the assignments mirrors this one.
    const auto total = int64_t{1} << (n - 1);
    for (int64_t signs = 0; signs < total; ++signs) {
      const double flipped = flipped_sum(differences, [&](size_t i) { return signs >> i & 1; });
      as_far += std::abs(flipped) >= bound;
    }
    return static_cast<double>(as_far) / static_cast<double>(total);
  }
  for (int64_t draw = 0; draw < kSampledSigns; ++draw) {
    const Key signs = key.fold_in(static_cast<uint32_t>(draw));
    const double flipped = flipped_sum(differences, [&](size_t i) { return signs.bits(i) & 1; });
    as_far += std::abs(flipped) >= bound;
  }
  return static_cast<double>(1 + as_far) / static_cast<double>(1 + kSampledSigns);
}

double smallest_p(int64_t pairs) {
  return pairs < 1 ? 1 : std::ldexp(1.0, static_cast<int>(std::max<int64_t>(1 - pairs, -1000)));
}

std::vector<double> holm(std::span<const double> p_values) {
  std::vector<size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t i) { return p_values[i]; });
  std::vector<double> adjusted(p_values.size());
  double largest = 0;
  for (size_t rank = 0; rank < order.size(); ++rank) {
    const double p = p_values[order[rank]] * static_cast<double>(order.size() - rank);
    largest = std::max(largest, std::min(1.0, p));
    adjusted[order[rank]] = largest;
  }
  return adjusted;
}

std::vector<Interval> bootstrap_intervals(int64_t seeds, int64_t examples, int64_t statistics,
                                          const BootstrapOptions& options,
                                          const SeedValues& values) {
  const auto width = static_cast<size_t>(statistics);
  std::vector<double> means(static_cast<size_t>(options.resamples) * width);
  parallel_for(options.resamples, 1, [&](int64_t begin, int64_t end) {
    std::vector<int32_t> weights(static_cast<size_t>(examples)), drawn(static_cast<size_t>(seeds));
    std::vector<double> out(width);
    for (int64_t resample = begin; resample < end; ++resample) {
      const Key key = options.key.fold_in(static_cast<uint32_t>(resample));
      const auto draw = [](Key site, std::vector<int32_t>& counts) {
        std::ranges::fill(counts, 0);
        for (size_t i = 0; i < counts.size(); ++i) ++counts[site.below(i, counts.size())];
      };
      draw(key.fold_in("examples"), weights);
      draw(key.fold_in("seeds"), drawn);
      const auto row = std::span(means).subspan(static_cast<size_t>(resample) * width, width);
      for (size_t seed = 0; seed < drawn.size(); ++seed) {
        if (drawn[seed] == 0) continue;
        values(static_cast<int64_t>(seed), weights, out);
        const double share = static_cast<double>(drawn[seed]) / static_cast<double>(seeds);
        for (size_t i = 0; i < width; ++i) row[i] += share * out[i];
      }
    }
  });
  std::vector<Interval> intervals(width);
  std::vector<double> column(static_cast<size_t>(options.resamples));
  for (size_t i = 0; i < width; ++i) {
    for (size_t row = 0; row < column.size(); ++row) column[row] = means[row * width + i];
    intervals[i] = percentile_interval(column, options.confidence);
  }
  return intervals;
}

int64_t fewest_seeds(int64_t tests, double confidence) {
  int64_t pairs = 1;
  while (smallest_p(pairs) * static_cast<double>(tests) > 1 - confidence && pairs < kManySeeds)
    ++pairs;
  return pairs;
}

std::optional<int64_t> seeds_needed(double mean_difference, double deviation, int64_t tests,
                                    double confidence) {
  constexpr double kPower = 0.8;
  const double level = (1 - confidence) / static_cast<double>(std::max<int64_t>(1, tests));
  const double z = normal_quantile(1 - level / 2);
  const double effect = std::abs(mean_difference) / deviation;
  const double pairs = std::pow((z + normal_quantile(kPower)) / effect, 2) + z * z / 2;
  if (!(pairs <= static_cast<double>(kManySeeds))) return std::nullopt;
  return std::max(static_cast<int64_t>(std::ceil(pairs)), fewest_seeds(tests, confidence));
}

}  // namespace headwater
