// BERT's basic normaliser: cleaning, spaces around ideographs, lower case, accent stripping,
// punctuation. One table over all code points, built from ICU; no locale.
//
// Two dialects exist in the field and both are kept exactly:
//   ELECTRA (and BERT): the authors' Python code. Categories of the Unicode version at hand (ICU
//   72:
//     Unicode 15), unassigned code points are dropped, a sigma at the end of a word lowers to final
//     sigma.
//   Hugging Face: BertTokenizerFast. Categories as of Unicode 8 and decompositions as of Unicode 9,
//     unassigned code points stay, sigma lowers without context, ideographs U+2B820..2B91F are not
//     set apart.
//
// Not here: Unicode normal forms of whole texts (normal_form.h), emoji (emoji.h), sub-words
// (tokens).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "text/code_point_map.h"

namespace headwater {

enum class Dialect : uint8_t { kElectra, kHuggingFace };

struct NormalizerOptions {
  bool lower_case = false;
  bool strip_accents =
      false;  // NFD, then marks (category Mn) go: also takes Hangul syllables apart
  Dialect dialect = Dialect::kElectra;
};

enum class CharKind : uint8_t {
  kDropped,     // control characters and the like
  kSpace,       // ends a word
  kWord,        // part of a word
  kIsolated,    // a word by itself: punctuation, ideographs
  kMapped,      // becomes other code points: BasicNormalizer::expansion
  kContextual,  // what it becomes depends on its neighbours: only normalize() knows
};

struct NormalizedChar {
  char32_t code_point = 0;
  CharKind kind = CharKind::kWord;  // kSpace, kWord or kIsolated
  size_t begin = 0, end = 0;        // bytes of the text it came from
};

class BasicNormalizer {
 public:
  explicit BasicNormalizer(NormalizerOptions options);

  const NormalizerOptions& options() const { return options_; }

  // What a code point becomes: a kind, and for kMapped the place of its expansion.
  struct Entry {
    CharKind kind;
    uint32_t expansion;
  };
  Entry entry(char32_t code_point) const { return unpack(table_[code_point]); }

  // Code points (kWord or kIsolated) that a kMapped entry stands for; may be empty.
  struct Mapped {
    char32_t code_point;
    CharKind kind;
  };
  std::span<const Mapped> expansion(Entry entry) const {
    const Mapped* begin = expansions_.data() + entry.expansion;
    return {begin + 1, static_cast<size_t>(begin->code_point)};
  }

  // f(first, last, entry) over runs of code points with one entry.
  template <class F>
  void for_each_run(F f) const {
    table_.for_each_run(
        [&](char32_t first, char32_t last, uint32_t packed) { f(first, last, unpack(packed)); });
  }

  // The whole job: normalised characters of valid UTF-8, in order, with where they came from.
  void normalize(std::string_view text, std::vector<NormalizedChar>& out) const;

 private:
  static Entry unpack(uint32_t packed) { return {static_cast<CharKind>(packed & 7), packed >> 3}; }
  void build();
  uint32_t pack_mapping(char32_t c, bool ideograph);
  void normalize_decomposed(std::string_view text, std::vector<NormalizedChar>& out) const;

  NormalizerOptions options_;
  CodePointMap<uint32_t> table_;
  std::vector<Mapped> expansions_;  // a length (as a code point), then as many code points
};

}  // namespace headwater
