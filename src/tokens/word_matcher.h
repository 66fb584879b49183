// The inner loop of the tokenizer: normaliser and vocabulary compiled into one table over code
// points, so that a text is decoded, normalised, split and matched in one pass without a buffer in
// between.
//
// Not here: what needs more than one code point to decide (final sigma, the order of marks). The
// pass stops there and says so; the caller then takes the way over BasicNormalizer::normalize.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "text/basic_normalizer.h"
#include "text/code_point_map.h"
#include "tokens/piece_trie.h"
#include "tokens/vocabulary.h"

namespace headwater {

class WordMatcher {
 public:
  static Result<WordMatcher> build(const Vocabulary& vocabulary, const BasicNormalizer& normalizer,
                                   int32_t unk, int32_t max_word_chars);

  // Appends the ids of valid UTF-8. False, with `ids` as before, when a character needs its
  // context.
  bool append_ids(std::string_view text, std::vector<int32_t>& ids) const;

  // Writes the ids of one word (of code points that are normalised already); at most as many as the
  // word has characters. Returns their number.
  int64_t match_word(std::span<const NormalizedChar> word, int32_t* ids) const;

 private:
  // What to do at a code point: a kind in the low three bits, a payload above.
  enum class Action : uint32_t {
    kDrop,
    kSpace,
    kSymbol,   // payload: symbol of the trie
    kForeign,  // part of a word, in no piece of the vocabulary
    kToken,    // a word by itself; payload: its id
    kExpand,   // payload: place in expansions_
    kContextual,
  };
  static uint32_t pack(Action action, uint32_t payload = 0) {
    return (payload << 3) | static_cast<uint32_t>(action);
  }
  class Run;  // a pass over one text

  WordMatcher() : actions_(pack(Action::kDrop)) {}
  uint32_t action_of(char32_t c, CharKind kind, const Vocabulary& vocabulary) const;
  void compile(const Vocabulary& vocabulary, const BasicNormalizer& normalizer);

  PieceTrie trie_;
  CodePointMap<uint32_t> actions_;
  std::array<uint32_t, 128> ascii_{};  // actions_ once more, one load away
  std::vector<uint32_t> expansions_;   // a length, then as many actions
  int32_t unk_ = 0;
  int32_t max_word_chars_ = 0;
};

}  // namespace headwater
