#include "generate/sampling.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

namespace headwater {
namespace {

constexpr float kImpossible = -std::numeric_limits<float>::infinity();

float largest(std::span<const float> logits) { return *std::ranges::max_element(logits); }

// e^(logit - top) of each, and their sum.
struct Weights {
  std::vector<double> each;
  double total = 0;
};
Weights softmax_weights(std::span<const float> logits) {
  Weights weights;
  weights.each.reserve(logits.size());
  const double top = double{largest(logits)};
  for (const float logit : logits) {
    const double weight = std::exp(double{logit} - top);
    weights.each.push_back(weight);
    weights.total += weight;
  }
  return weights;
}

}  // namespace

void SamplingOptions::describe(Fields& f) {
  f("temperature", temperature, "divides the logits; 0: always the most likely token")
      .range(0, 1e4);
  f("top_k", top_k, "draw among this many most likely tokens; 0: all").range(0, 1 << 24);
  f("top_p", top_p, "draw among the most likely tokens that together have this probability")
      .range(0, 1);
  f("repetition_penalty", repetition_penalty,
    "over 1: tokens that occurred already become less likely")
      .range(1e-4, 1e4);
}

void apply_repetition_penalty(std::span<float> logits, std::span<const int32_t> tokens,
                              double penalty) {
  if (penalty == 1) return;
  const auto factor = static_cast<float>(penalty);
  std::vector<int32_t> seen(tokens.begin(), tokens.end());
  std::ranges::sort(seen);
  seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
  for (const int32_t token : seen) {
    if (token < 0 || static_cast<size_t>(token) >= logits.size()) continue;
    float& logit = logits[static_cast<size_t>(token)];
    logit = logit < 0 ? logit * factor : logit / factor;
  }
}

void apply_temperature(std::span<float> logits, double temperature) {
  if (temperature == 1) return;
  const auto divisor = static_cast<float>(temperature);
  for (float& logit : logits) logit /= divisor;
}

void keep_top_k(std::span<float> logits, int64_t k) {
  if (k <= 0 || static_cast<size_t>(k) >= logits.size()) return;
  std::vector<float> sorted(logits.begin(), logits.end());
  const auto kth = sorted.begin() + (k - 1);
  std::ranges::nth_element(sorted, kth, std::greater<>());
  for (float& logit : logits) {
    if (logit < *kth) logit = kImpossible;
  }
}

void keep_top_p(std::span<float> logits, double p) {
  if (p >= 1) return;
  const Weights weights = softmax_weights(logits);
  // A heap, as usually few of the many tokens are needed.
  std::vector<int32_t> heap(logits.size());
  std::iota(heap.begin(), heap.end(), 0);
  const auto logit = [&](int32_t id) { return logits[static_cast<size_t>(id)]; };
  const auto before = [&](int32_t a, int32_t b) {
    return logit(a) != logit(b) ? logit(a) < logit(b) : a < b;
  };
  std::ranges::make_heap(heap, before);
  std::vector<bool> kept(logits.size());
  double mass = 0;
  do {
    std::ranges::pop_heap(heap, before);
    const auto id = static_cast<size_t>(heap.back());
    heap.pop_back();
    kept[id] = true;
    mass += weights.each[id];
  } while (mass < p * weights.total && !heap.empty());
  for (size_t i = 0; i < kept.size(); ++i) {
    if (!kept[i]) logits[i] = kImpossible;
  }
}

int32_t most_likely(std::span<const float> logits) {
  return static_cast<int32_t>(std::ranges::max_element(logits) - logits.begin());
}

int32_t token_at(std::span<const float> logits, double u) {
  const Weights weights = softmax_weights(logits);
  const double target = u * weights.total;
  double sum = 0;
  size_t last = 0;  // possible token so far: what rounding leaves over is its
  for (size_t i = 0; i < logits.size(); ++i) {
    if (weights.each[i] == 0) continue;
    last = i;
    sum += weights.each[i];
    if (sum > target) break;
  }
  return static_cast<int32_t>(last);
}

double uniform_double(Key key, uint64_t index) {
  return static_cast<double>(key.below(index, uint64_t{1} << 53)) * 0x1p-53;
}

bool has_choice(std::span<const float> logits) {
  if (std::ranges::any_of(logits, [](float logit) { return std::isnan(logit); })) return false;
  return !logits.empty() && std::isfinite(largest(logits));
}

int32_t choose_token(std::span<float> logits, std::span<const int32_t> tokens,
                     const SamplingOptions& options, Key key, uint64_t index) {
  apply_repetition_penalty(logits, tokens, options.repetition_penalty);
  if (options.greedy()) return most_likely(logits);
  apply_temperature(logits, options.temperature);
  keep_top_k(logits, options.top_k);
  keep_top_p(logits, options.top_p);
  return token_at(logits, uniform_double(key, index));
}

}  // namespace headwater
