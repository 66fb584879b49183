// Which tokens of a row a masked language model must predict, by BERT's rule: positions without
// repetition, of which most show [MASK], some a random token and the others what stood there
// (Devlin et al. 2019, section 3.1); by choice whole words at once.
//
// A pure function of a key. Special tokens and padding are never drawn. ELECTRA's rule, which
// differs, is batches/masking.h.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/error.h"
#include "base/threefry.h"
#include "io/file.h"
#include "tokens/any_tokenizer.h"

namespace headwater {

// Where words begin in a row of tokens: at every token that does not continue a word (##), and with
// a list of words also where a listed one begins or ends inside. Korean writes particles and
// endings together with the word before them: with 학교 in the list, 학교 ##에서 ##는 is the word
// 학교 and the rest.
class WordBounds {
 public:
  // `tokens` by id. `words`: empty for none.
  WordBounds(std::span<const std::string> tokens, std::unordered_set<std::string> words);
  // By the tokenizer's own rule: a word of byte-level BPE begins with white space.
  static WordBounds of(const AnyTokenizer& tokenizer);
  // A word a line, UTF-8; empty lines are passed over.
  static Result<std::unordered_set<std::string>> read_words(FileSystem& fs,
                                                            const std::string& path);

  // For every token whether a word begins there. Ids out of the vocabulary begin one.
  void find(std::span<const int32_t> ids, std::vector<uint8_t>& starts) const;

 private:
  WordBounds() = default;
  bool continues(int32_t id) const;
  void split_by_words(std::span<const int32_t> word, std::span<uint8_t> starts) const;
  // Tokens from the first of `word` on that spell the longest listed word; 0: none do.
  size_t listed_prefix(std::span<const int32_t> word) const;

  std::vector<std::string> texts_;  // by id, without ##; empty without a list
  std::vector<uint8_t> continues_;  // by id
  std::unordered_set<std::string> words_;
};

struct WordMaskingRule {
  double mask_prob = 0.15;       // share of a row's tokens, special ones counted
  int64_t max_predictions = 19;  // N, slots of a row
  double show_mask_prob = 0.8, random_prob = 0.1;
  int32_t mask_id = 4;
  int64_t vocab_size = 0;                   // of random tokens
  std::vector<int32_t> never;               // ids that are not drawn: special tokens
  const WordBounds* whole_words = nullptr;  // null: tokens by themselves
};

// Slots in use of a row with `tokens` real tokens: max(1, min(N, round(tokens * mask_prob))),
// halves to even, in float32 as google's programs compute it.
int64_t count_predictions(int64_t tokens, double mask_prob, int64_t max_predictions);

// Masks a row: `ids` [T] are changed in place where `mask` is 1, slots [N] get the positions in
// rising order and the tokens that stood there; unused slots have position 0 and label -100.
// Returns the number of slots in use, which is about count_predictions(), and 0 where nothing may
// be drawn.
int64_t mask_words(std::span<int32_t> ids, std::span<const int32_t> mask,
                   const WordMaskingRule& rule, Key row_key, std::span<int32_t> positions,
                   std::span<int32_t> labels);

}  // namespace headwater
