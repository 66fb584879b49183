// What a model must beat: unigram and bigram statistics of the token stream, computed from the same
// records as it trains on.
//
// Counts are taken from one part of the stream and judged on another, so that rare pairs do not
// flatter them. Special tokens are neither counted nor predicted ([UNK] is); a token behind one has
// no left neighbour.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "tokens/vocabulary.h"

namespace headwater {

// Entropies in nats per token, accuracies as shares of the tokens.
struct BaselineScores {
  int64_t tokens = 0;
  double unigram_entropy =
      0;                    // of the counted stream: the plateau of a model that knows no context
  double unigram_loss = 0;  // cross-entropy of the counts on the judged stream
  double unigram_accuracy = 0;  // always guessing the most frequent token
  double bigram_loss = 0;       // given the left neighbour, Witten-Bell smoothing
  double bigram_accuracy = 0;   // guessing its most frequent follower
};

class TokenBaselines {
 public:
  // Counting stops after `max_tokens`: the table of pairs would grow with the corpus.
  TokenBaselines(int64_t vocab_size, const SpecialIds& special, int64_t max_tokens = 4 << 20);

  // Ids of one sequence, all within the vocabulary; padding may be among them.
  void count(std::span<const int32_t> ids);
  bool full() const { return tokens_ >= max_tokens_; }

  void judge(std::span<const int32_t> ids);
  // Scores of everything judged so far.
  BaselineScores scores() const;

 private:
  struct Followers {
    int64_t total = 0, kinds = 0;      // pairs, and different ones
    int32_t best = 0, best_count = 0;  // the most frequent follower
  };
  bool skipped(int32_t id) const;
  double unigram_probability(int32_t id) const;
  double pair_probability(int32_t left, int32_t id) const;

  SpecialIds special_;
  int64_t max_tokens_, tokens_ = 0;
  std::vector<int64_t> counts_;
  int32_t top_ = 0;  // the most frequent token
  std::vector<Followers> followers_;
  std::unordered_map<uint64_t, int32_t> pairs_;
  int64_t judged_ = 0, unigram_hits_ = 0, bigram_hits_ = 0;
  double unigram_nats_ = 0, bigram_nats_ = 0;
};

}  // namespace headwater
