// The tokenizer written the slow and plain way, pass after pass over whole strings: what the
// one-pass tables of src/tokens must agree with on any text.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "text/unicode_rules.h"
#include "text/utf8.h"
#include "tokens/tokenizer.h"

namespace headwater {

class ReferenceTokenizer {
 public:
  ReferenceTokenizer(Vocabulary vocabulary, TokenizerOptions options)
      : vocabulary_(std::move(vocabulary)),
        options_(std::move(options)),
        hf_(options_.compatibility == "hf"),
        rules_(hf_ ? Dialect::kHuggingFace : Dialect::kElectra) {}

  std::vector<int32_t> ids(std::string_view text) const {
    std::u32string cleaned;
    for (const char32_t c : utf8_to_utf32(text)) {
      if (rules_.is_space(c)) {
        cleaned += U' ';
      } else if (!rules_.is_dropped(c)) {
        if (rules_.is_ideograph(c)) {
          cleaned += {U' ', c, U' '};
        } else {
          cleaned += c;
        }
      }
    }
    std::vector<int32_t> out;
    for (size_t i = 0; i < cleaned.size();) {
      const size_t end = std::min(cleaned.find(U' ', i), cleaned.size());
      if (end > i) add_word(cleaned.substr(i, end - i), out);
      i = end + 1;
    }
    return out;
  }

 private:
  void add_word(std::u32string word, std::vector<int32_t>& out) const {
    const bool strip = options_.strip_accents.value_or(options_.do_lower_case);
    if (!hf_ && options_.do_lower_case) word = lower(word);
    if (strip) word = stripped(word);
    if (hf_ && options_.do_lower_case) word = lower(word);
    std::u32string part;
    for (const char32_t c : word) {
      if (rules_.is_punctuation(c)) {
        match(part, out);
        match({c}, out);
        part.clear();
      } else {
        part += c;
      }
    }
    match(part, out);
  }

  std::u32string lower(const std::u32string& word) const {
    std::u32string out;
    for (size_t i = 0; i < word.size(); ++i) {
      const bool final = !hf_ && word[i] == 0x3A3 && is_final(word, i);
      out += final ? std::u32string{0x3C2} : rules_.lower(word[i]);
    }
    return out;
  }

  static bool is_final(const std::u32string& word, size_t sigma) {
    size_t before = sigma;
    while (before > 0 && UnicodeRules::is_case_ignorable(word[before - 1])) --before;
    size_t after = sigma + 1;
    while (after < word.size() && UnicodeRules::is_case_ignorable(word[after])) ++after;
    return before > 0 && UnicodeRules::is_cased(word[before - 1]) &&
           (after == word.size() || !UnicodeRules::is_cased(word[after]));
  }

  std::u32string stripped(const std::u32string& word) const {
    std::u32string decomposed;
    for (const char32_t c : word) decomposed += rules_.decompose(c);
    // Canonical order by exchanging neighbours.
    for (size_t i = 1; i < decomposed.size(); ++i) {
      for (size_t j = i; j > 0; --j) {
        const int right = rules_.combining_class(decomposed[j]);
        if (right == 0 || rules_.combining_class(decomposed[j - 1]) <= right) break;
        std::swap(decomposed[j], decomposed[j - 1]);
      }
    }
    std::erase_if(decomposed, [&](char32_t c) { return rules_.is_accent(c); });
    return decomposed;
  }

  void match(const std::u32string& word, std::vector<int32_t>& out) const {
    if (word.empty()) return;
    const int32_t unk = *vocabulary_.find("[UNK]");
    const int64_t limit =
        options_.max_word_chars != 0 ? options_.max_word_chars : (hf_ ? 100 : 200);
    if (static_cast<int64_t>(word.size()) > limit) return out.push_back(unk);
    const size_t first = out.size();
    for (size_t begin = 0; begin < word.size();) {
      size_t end = word.size();
      std::optional<int32_t> id;
      for (; end > begin && !id; --end)
        id = vocabulary_.find((begin == 0 ? "" : "##") +
                              utf32_to_utf8(std::u32string_view(word).substr(begin, end - begin)));
      if (!id) {
        out.resize(first);
        return out.push_back(unk);
      }
      out.push_back(*id);
      begin = end + 1;
    }
  }

  Vocabulary vocabulary_;
  TokenizerOptions options_;
  bool hf_;
  UnicodeRules rules_;
};

}  // namespace headwater
