// A vocabulary of a few hundred pieces for tests of behaviour.
#pragma once

#include <string>
#include <vector>

#include "text/utf8.h"
#include "tokens/vocabulary.h"

namespace headwater {

inline std::vector<std::string> mini_tokens() {
  std::vector<std::string> tokens = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
  for (char c = '!'; c <= '~'; ++c) tokens.push_back(std::string(1, c));
  const std::string syllables = "가나다라마바사아안녕하세요오늘기분너무좋네반갑습니스토리";
  for (size_t i = 0; i < syllables.size(); i += 3) {
    tokens.push_back(syllables.substr(i, 3));
    tokens.push_back("##" + syllables.substr(i, 3));
  }
  for (char c = 'a'; c <= 'z'; ++c) tokens.push_back(std::string("##") + c);
  for (char c = '0'; c <= '9'; ++c) tokens.push_back(std::string("##") + c);
  for (const char* token :
       {"안녕", "##하세요", "##세요", "오늘", "기분",  "스토리", "ㅋ",    "##ㅋ", "ㅠ",   "##ㅠ",
        "ㅋㅋ", "##ㅋㅋ",   "😊",      "##😊",  "glad",  "na",     "##ive", "##ï",  "##ve", "cafe",
        "caf",  "##é",      "one",    "two",  "##two", "中",     "文",    "👍",    "👨👩👧",  "❤"})
    tokens.push_back(token);
  return tokens;
}

inline Vocabulary mini_vocabulary() { return *Vocabulary::from_tokens(mini_tokens(), "mini"); }

// Tokens of ids, separated by blanks.
inline std::string join_tokens(const Vocabulary& vocabulary, const std::vector<int32_t>& ids) {
  std::string out;
  for (const int32_t id : ids) out += (out.empty() ? "" : " ") + vocabulary.token(id);
  return out;
}

}  // namespace headwater
