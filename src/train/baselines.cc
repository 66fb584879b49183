#include "train/baselines.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace headwater {
namespace {
constexpr int32_t kNone = -1;

uint64_t pair_key(int32_t left, int32_t right) {
  return (uint64_t{static_cast<uint32_t>(left)} << 32) | static_cast<uint32_t>(right);
}
}  // namespace

TokenBaselines::TokenBaselines(int64_t vocab_size, const SpecialIds& special, int64_t max_tokens)
    : special_(special),
      max_tokens_(max_tokens),
      counts_(static_cast<size_t>(vocab_size)),
      followers_(static_cast<size_t>(vocab_size)) {}

bool TokenBaselines::skipped(int32_t id) const {
  return id == special_.pad || id == special_.cls || id == special_.sep || id == special_.mask;
}

void TokenBaselines::count(std::span<const int32_t> ids) {
  int32_t left = kNone;
  for (const int32_t id : ids) {
    if (full()) return;
    HW_CHECK(id >= 0 && id < std::ssize(counts_), "token id {}", id);
    if (skipped(id)) {
      left = kNone;
      continue;
    }
    if (++counts_[static_cast<size_t>(id)] > counts_[static_cast<size_t>(top_)]) top_ = id;
    ++tokens_;
    if (left != kNone) {
      Followers& followers = followers_[static_cast<size_t>(left)];
      const int32_t pairs = ++pairs_[pair_key(left, id)];
      ++followers.total;
      if (pairs == 1) ++followers.kinds;
      if (pairs > followers.best_count) followers.best = id, followers.best_count = pairs;
    }
    left = id;
  }
}

// Add-one over the vocabulary: a token that was never counted has a finite cost.
double TokenBaselines::unigram_probability(int32_t id) const {
  return (static_cast<double>(counts_[static_cast<size_t>(id)]) + 1) /
         (static_cast<double>(tokens_) + static_cast<double>(counts_.size()));
}

// Witten and Bell (1991): the weight of the unigram is the number of different followers seen.
double TokenBaselines::pair_probability(int32_t left, int32_t id) const {
  const double unigram = unigram_probability(id);
  if (left == kNone) return unigram;
  const Followers& followers = followers_[static_cast<size_t>(left)];
  if (followers.total == 0) return unigram;
  const auto found = pairs_.find(pair_key(left, id));
  const double pairs = found == pairs_.end() ? 0 : found->second;
  const auto kinds = static_cast<double>(followers.kinds);
  return (pairs + kinds * unigram) / (static_cast<double>(followers.total) + kinds);
}

void TokenBaselines::judge(std::span<const int32_t> ids) {
  int32_t left = kNone;
  for (const int32_t id : ids) {
    HW_CHECK(id >= 0 && id < std::ssize(counts_), "token id {}", id);
    if (skipped(id)) {
      left = kNone;
      continue;
    }
    const bool known = left != kNone && followers_[static_cast<size_t>(left)].total > 0;
    const int32_t guess = known ? followers_[static_cast<size_t>(left)].best : top_;
    ++judged_;
    unigram_hits_ += id == top_;
    bigram_hits_ += id == guess;
    unigram_nats_ -= std::log(unigram_probability(id));
    bigram_nats_ -= std::log(pair_probability(left, id));
    left = id;
  }
}

BaselineScores TokenBaselines::scores() const {
  BaselineScores scores;
  scores.tokens = judged_;
  for (const int64_t count : counts_) {
    if (count == 0) continue;
    const double p = static_cast<double>(count) / static_cast<double>(tokens_);
    scores.unigram_entropy -= p * std::log(p);
  }
  if (judged_ == 0) return scores;
  const auto n = static_cast<double>(judged_);
  scores.unigram_loss = unigram_nats_ / n;
  scores.unigram_accuracy = static_cast<double>(unigram_hits_) / n;
  scores.bigram_loss = bigram_nats_ / n;
  scores.bigram_accuracy = static_cast<double>(bigram_hits_) / n;
  return scores;
}

}  // namespace headwater
