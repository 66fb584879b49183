#include "train/ngram_baseline.h"

#include <algorithm>
#include <cmath>

namespace headwater {
namespace {

// n1 / (n1 + 2 n2); a text in which everything is frequent discounts nothing, and its back-off
// must still exist.
double discount(int64_t once, int64_t twice) {
  const double found =
      static_cast<double>(once) / std::max(1.0, static_cast<double>(once + 2 * twice));
  return std::clamp(found, 0.1, 0.99);
}

template <class Values, class Of>
double discount_of(const Values& values, Of of) {
  int64_t once = 0, twice = 0;
  for (const auto& value : values) {
    once += of(value) == 1 ? 1 : 0;
    twice += of(value) == 2 ? 1 : 0;
  }
  return discount(once, twice);
}

// A count less its discount, and the discounts of all kinds for the order below.
double interpolated(double count, double total, double kinds, double discount, double lower) {
  if (total <= 0) return lower;
  return std::max(count - discount, 0.0) / total + discount * kinds / total * lower;
}

}  // namespace

NgramBaseline::NgramBaseline(int64_t vocab_size, int64_t max_tokens)
    : vocab_size_(vocab_size),
      max_tokens_(max_tokens),
      pair_contexts_(static_cast<size_t>(vocab_size)),
      singles_(static_cast<size_t>(vocab_size)) {}

uint64_t NgramBaseline::pair_key(int64_t a, int64_t b) const {
  return static_cast<uint64_t>(a + 1) * static_cast<uint64_t>(vocab_size_ + 1) +
         static_cast<uint64_t>(b);
}

uint64_t NgramBaseline::triple_key(int64_t a, int64_t b, int64_t c) const {
  return pair_key(a, b) * static_cast<uint64_t>(vocab_size_) + static_cast<uint64_t>(c);
}

void NgramBaseline::count(std::span<const int32_t> row) {
  for (size_t t = 1; t < row.size() && !full(); ++t) {
    const int32_t a = t > 1 ? row[t - 2] : -1, b = row[t - 1], c = row[t];
    ++tokens_;
    Context& behind_two = triple_contexts_[pair_key(a, b)];
    ++behind_two.total;
    if (++triples_[triple_key(a, b, c)] > 1) continue;
    // A new triple: the pair has one more history.
    ++behind_two.kinds;
    Context& behind_one = pair_contexts_[static_cast<size_t>(b)];
    ++behind_one.total;
    if (++pairs_[pair_key(b, c)] > 1) continue;
    ++behind_one.kinds;
    ++all_.total;
    if (++singles_[static_cast<size_t>(c)] == 1) ++all_.kinds;
  }
}

void NgramBaseline::set_discounts() {
  if (discounted_) return;
  discounted_ = true;
  const auto second = [](const auto& entry) { return entry.second; };
  discounts_ = {discount_of(singles_, [](int32_t count) { return count; }),
                discount_of(pairs_, second), discount_of(triples_, second)};
}

double NgramBaseline::unigram(int32_t token) const {
  return interpolated(singles_[static_cast<size_t>(token)], static_cast<double>(all_.total),
                      static_cast<double>(all_.kinds), discounts_[0],
                      1 / static_cast<double>(vocab_size_));
}

double NgramBaseline::bigram(int32_t second, int32_t token) const {
  const Context& context = pair_contexts_[static_cast<size_t>(second)];
  const auto found = pairs_.find(pair_key(second, token));
  const double count = found == pairs_.end() ? 0 : found->second;
  return interpolated(count, static_cast<double>(context.total), static_cast<double>(context.kinds),
                      discounts_[1], unigram(token));
}

double NgramBaseline::probability(int32_t first, int32_t second, int32_t token) {
  set_discounts();
  const double lower = bigram(second, token);
  const auto context = triple_contexts_.find(pair_key(first, second));
  if (context == triple_contexts_.end()) return lower;
  const auto found = triples_.find(triple_key(first, second, token));
  const double count = found == triples_.end() ? 0 : found->second;
  return interpolated(count, static_cast<double>(context->second.total),
                      static_cast<double>(context->second.kinds), discounts_[2], lower);
}

void NgramBaseline::judge(std::span<const int32_t> row) {
  for (size_t t = 1; t < row.size(); ++t) {
    nats_ -= std::log(probability(t > 1 ? row[t - 2] : -1, row[t - 1], row[t]));
    ++judged_;
  }
}

double NgramBaseline::loss() const {
  return judged_ > 0 ? nats_ / static_cast<double>(judged_) : 0;
}

}  // namespace headwater
