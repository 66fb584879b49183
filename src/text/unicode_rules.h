// What the two dialects know about single code points. ICU stays behind this header.
#pragma once

#include <functional>
#include <string>

#include "text/basic_normalizer.h"

namespace headwater {

class UnicodeRules {
 public:
  explicit UnicodeRules(Dialect dialect) : hf_(dialect == Dialect::kHuggingFace) {}

  bool is_dropped(char32_t c) const;           // cleaned away
  bool is_space(char32_t c) const;             // ends a word; tested before is_dropped
  bool is_ideograph(char32_t c) const;         // set apart by spaces: Hanja yes, Hangul and kana no
  bool is_punctuation(char32_t c) const;       // a token by itself
  bool is_accent(char32_t c) const;            // category Mn
  int combining_class(char32_t c) const;       // canonical, 0 for starters
  std::u32string lower(char32_t c) const;      // without context
  std::u32string decompose(char32_t c) const;  // canonical, complete

  // For the final-sigma rule.
  static bool is_cased(char32_t c);
  static bool is_case_ignorable(char32_t c);

  // Calls f for the runs [first, last] of one category that cover all code points; `uniform` says
  // that the run is long and unassigned or private: no code point in it differs from another.
  static void for_each_run(
      const std::function<void(char32_t first, char32_t last, bool uniform)>& f);

 private:
  int category(char32_t c) const;  // UCharCategory
  bool hf_;
};

}  // namespace headwater
