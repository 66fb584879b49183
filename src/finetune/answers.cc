#include "finetune/answers.h"

#include <algorithm>
#include <map>
#include <vector>

#include "text/utf8.h"

namespace headwater {
namespace {

// string.punctuation of Python, which both evaluation scripts take out.
bool is_ascii_mark(char32_t c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
         (c >= '{' && c <= '~');
}

// Quotation marks and brackets of Korean texts, which KorQuAD's script blanks out.
bool is_korean_mark(char32_t c) {
  return std::u32string_view(U"'\"《》<>〈〉().‘’").find(c) != std::u32string_view::npos;
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (size_t i = 0; i < text.size();) {
    const size_t begin = std::min(text.find_first_not_of(" \t\r\n", i), text.size());
    i = std::min(text.find_first_of(" \t\r\n", begin), text.size());
    if (i > begin) words.emplace_back(text.substr(begin, i - begin));
  }
  return words;
}

std::map<std::string, int64_t> parts_of(const std::string& normalized, AnswerRule rule,
                                        int64_t& total) {
  std::map<std::string, int64_t> parts;
  total = 0;
  for (const std::string& word : words_of(normalized)) {
    if (rule == AnswerRule::kSquad) {
      ++parts[word], ++total;
      continue;
    }
    for (size_t i = 0; i < word.size();) {
      const size_t begin = i;
      decode_utf8(word, i);
      ++parts[word.substr(begin, i - begin)], ++total;
    }
  }
  return parts;
}

double shared_f1(const std::string& a, const std::string& b, AnswerRule rule) {
  int64_t total_a = 0, total_b = 0, shared = 0;
  const auto parts_a = parts_of(a, rule, total_a), parts_b = parts_of(b, rule, total_b);
  if (total_a == 0 || total_b == 0) return total_a == total_b ? 1 : 0;
  for (const auto& [part, count] : parts_a) {
    const auto found = parts_b.find(part);
    if (found != parts_b.end()) shared += std::min(count, found->second);
  }
  return 2 * static_cast<double>(shared) / static_cast<double>(total_a + total_b);
}

}  // namespace

std::string normalized_answer(std::string_view text, AnswerRule rule) {
  std::string kept;
  for (size_t i = 0; i < text.size();) {
    char32_t c = decode_utf8(text, i);
    if (c >= 'A' && c <= 'Z') c += 'a' - 'A';
    if (rule == AnswerRule::kKorquad && is_korean_mark(c)) kept += ' ';
    else if (!is_ascii_mark(c)) append_utf8(c, kept);
  }
  std::string joined;
  for (const std::string& word : words_of(kept)) {
    const bool article = word == "a" || word == "an" || word == "the";
    if (article && rule == AnswerRule::kSquad) continue;
    joined.append(joined.empty() ? "" : " ").append(word);
  }
  return joined;
}

AnswerScore score_answer(std::string_view predicted, std::span<const std::string> truth,
                         AnswerRule rule) {
  const std::string said = normalized_answer(predicted, rule);
  if (truth.empty()) return {said.empty() ? 1.0 : 0.0, said.empty() ? 1.0 : 0.0};
  AnswerScore best;
  for (const std::string& answer : truth) {
    const std::string is = normalized_answer(answer, rule);
    best.exact_match = std::max(best.exact_match, said == is ? 1.0 : 0.0);
    best.f1 = std::max(best.f1, shared_f1(said, is, rule));
  }
  return best;
}

}  // namespace headwater
