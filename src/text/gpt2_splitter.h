// GPT-2's words: what its tokenizer's regular expression
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// matches, one match after the other, by hand over a table of ICU's: a run of letters, of digits or
// of other characters, each with the blank before it, and white space whose last character is left
// to the next word. Every byte belongs to a word.
//
// Letters and digits are those of Unicode 16, which Hugging Face's tokenizers know; white space is
// Unicode's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "text/code_point_map.h"
#include "text/utf8.h"

namespace headwater {

class Gpt2Splitter {
 public:
  enum class Kind : uint8_t { kOther, kLetter, kNumber, kSpace };

  Gpt2Splitter();

  Kind kind(char32_t c) const { return static_cast<Kind>(kinds_[c]); }

  // Where the word that begins at `begin` < text.size() ends. `text` is valid UTF-8.
  size_t word_end(std::string_view text, size_t begin) const {
    size_t at = begin;
    const Kind first = next_kind(text, at);
    if (first == Kind::kSpace) {
      size_t behind = at;
      if (text[begin] == ' ' && at < text.size()) {
        const Kind second = next_kind(text, behind);
        if (second != Kind::kSpace) return run_end(text, behind, second);
      }
      return space_end(text, begin, at);
    }
    if (text[begin] == '\'')
      if (const size_t length = contraction(text.substr(at))) return at + length;
    return run_end(text, at, first);
  }

 private:
  // The kind of the character at `at`, and `at` moves behind it.
  Kind next_kind(std::string_view text, size_t& at) const {
    const auto byte = static_cast<uint8_t>(text[at]);
    if (byte < 0x80) return ++at, ascii_[byte];
    return kind(decode_utf8(text, at));
  }

  size_t run_end(std::string_view text, size_t at, Kind kind) const {
    while (at < text.size()) {
      size_t behind = at;
      if (next_kind(text, behind) != kind) break;
      at = behind;
    }
    return at;
  }

  // Bytes of the contraction whose apostrophe stands before `rest`; 0 when there is none.
  static size_t contraction(std::string_view rest);
  // White space from `begin`, of which `at` is behind the first character.
  size_t space_end(std::string_view text, size_t begin, size_t at) const;

  CodePointMap<uint8_t> kinds_;
  std::array<Kind, 128> ascii_{};
};

}  // namespace headwater
