// What a causal language model must beat: a trigram model of the same training text, with
// interpolated Kneser-Ney smoothing (Kneser & Ney 1995; Chen & Goodman 1999, section 4.1), its
// discounts n1 / (n1 + 2 n2) of each order.
//
// Rows are what the model reads: the first token of a row is context only, as for the model.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace headwater {

class NgramBaseline {
 public:
  static constexpr int64_t kMostIds = int64_t{1} << 21;  // three ids in 64 bits

  // Ids are in [0, vocab_size), which is under kMostIds. Counting stops after `max_tokens`: the
  // tables grow with the text, about 60 bytes a token.
  explicit NgramBaseline(int64_t vocab_size, int64_t max_tokens = int64_t{1} << 24);

  // Tokens of one row, without padding and without other documents.
  void count(std::span<const int32_t> row);
  bool full() const { return tokens_ >= max_tokens_; }
  int64_t tokens() const { return tokens_; }  // counted ones that have a context

  // The probability of a token behind two others; `first` is -1 at the second token of a row.
  // Discounts are those of what is counted when it is called first.
  double probability(int32_t first, int32_t second, int32_t token);

  void judge(std::span<const int32_t> row);
  int64_t judged() const { return judged_; }
  double loss() const;  // nats per judged token; 0 without any

 private:
  // What follows a context: occurrences, or different histories of the order below, and kinds.
  struct Context {
    int64_t total = 0, kinds = 0;
  };
  using Counts = std::unordered_map<uint64_t, int32_t>;

  uint64_t pair_key(int64_t a, int64_t b) const;
  uint64_t triple_key(int64_t a, int64_t b, int64_t c) const;
  void set_discounts();
  double unigram(int32_t token) const;
  double bigram(int32_t second, int32_t token) const;

  int64_t vocab_size_, max_tokens_, tokens_ = 0;
  Counts triples_, pairs_;  // occurrences; different tokens before a pair
  std::unordered_map<uint64_t, Context> triple_contexts_;
  std::vector<Context> pair_contexts_;  // by token
  std::vector<int32_t> singles_;        // different tokens before a token
  Context all_;                         // different pairs, different tokens
  std::array<double, 3> discounts_{};   // of one, two and three tokens
  bool discounted_ = false;
  int64_t judged_ = 0;
  double nats_ = 0;
};

}  // namespace headwater
