#include "text/gpt2_splitter.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace headwater {
namespace {

using Kind = Gpt2Splitter::Kind;

const Gpt2Splitter& splitter() {
  static const Gpt2Splitter it;
  return it;
}

std::string split(std::string_view text) {
  std::string out;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = splitter().word_end(text, begin);
    out += (out.empty() ? "" : "|") + std::string(text.substr(begin, end - begin));
    begin = end;
  }
  return out;
}

TEST(Gpt2Splitter, Words) {
  EXPECT_EQ(split("Hello world"), "Hello| world");
  EXPECT_EQ(split("안녕하세요 오늘"), "안녕하세요| 오늘");
  EXPECT_EQ(split("abc123가나!?x"), "abc|123|가나|!?|x");
  EXPECT_EQ(split("10km, 50%"), "10|km|,| 50|%");
  EXPECT_EQ(split(" a  b   c"), " a| | b|  | c");
  EXPECT_EQ(split("a\n\n b"), "a|\n\n| b");
  EXPECT_EQ(split("a\n\nb"), "a|\n|\n|b");
  EXPECT_EQ(split("a\tb"), "a|\t|b");
  EXPECT_EQ(split("a   "), "a|   ");
  EXPECT_EQ(split("a \n"), "a| \n");
  EXPECT_EQ(split("x\u3000y\u00a0 z"), "x|\u3000|y|\u00a0| z");
  EXPECT_EQ(split("e\u0301"), "e|\u0301");  // a mark is no letter
  EXPECT_EQ(split("½²Ⅷ"), "½²Ⅷ");
}

TEST(Gpt2Splitter, Contractions) {
  EXPECT_EQ(split("I've don't we'll he'd I'm they're it's"),
            "I|'ve| don|'t| we|'ll| he|'d| I|'m| they|'re| it|'s");
  EXPECT_EQ(split("'sabc"), "'s|abc");
  EXPECT_EQ(split("'S 'T"), "'|S| '|T");
  EXPECT_EQ(split("'v 'r 'l"), "'|v| '|r| '|l");
  EXPECT_EQ(split("!'s"), "!'|s");  // the apostrophe belongs to the run before it
  EXPECT_EQ(split(" 's"), " '|s");
  EXPECT_EQ(split("'"), "'");
}

// How many there are in the regular expressions of Hugging Face's tokenizers 0.22.2.
TEST(Gpt2Splitter, KindsOfAllCodePoints) {
  std::map<Kind, int> counts;
  for (char32_t c = 0; c < kCodePoints; ++c) ++counts[splitter().kind(c)];
  EXPECT_EQ(counts[Kind::kLetter], 141028);
  EXPECT_EQ(counts[Kind::kNumber], 1911);
  EXPECT_EQ(counts[Kind::kSpace], 25);
  for (const char32_t c : {0x1C89, 0x143FA, 0x2EE5D, 0xAC00, 0x31350})
    EXPECT_EQ(splitter().kind(c), Kind::kLetter);
  for (const char32_t c : {0x1CCF5, 0xBD, 0x2167}) EXPECT_EQ(splitter().kind(c), Kind::kNumber);
  for (const char32_t c : {0x1C, 0x1F, 0x180E, 0x200B, 0xFEFF})
    EXPECT_EQ(splitter().kind(c), Kind::kOther);
}

// The regular expression, alternative by alternative, over letters a, digits 0, dots, blanks and
// line ends.
size_t match(std::string_view text, size_t begin) {
  const std::string_view rest = text.substr(begin);
  for (const std::string_view c : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"})
    if (rest.starts_with(c)) return begin + c.size();
  const auto is_space = [](char c) { return c == ' ' || c == '\n'; };
  const auto run = [&](auto is) {
    size_t i = rest[0] == ' ' ? 1 : 0;
    const size_t from = i;
    while (i < rest.size() && is(rest[i])) ++i;
    return i > from ? i : 0;
  };
  const auto letter = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto digit = [](char c) { return c == '0'; };
  const auto other = [&](char c) { return !letter(c) && !digit(c) && !is_space(c); };
  if (const size_t n = run(letter)) return begin + n;
  if (const size_t n = run(digit)) return begin + n;
  if (const size_t n = run(other)) return begin + n;
  size_t n = 0;
  while (n < rest.size() && is_space(rest[n])) ++n;
  return begin + (n == rest.size() || n == 1 ? n : n - 1);
}

RC_GTEST_PROP(Gpt2Splitter, AsTheExpression, ()) {
  const auto text =
      *rc::gen::container<std::string>(rc::gen::elementOf(std::string("asltrevmd0.' \n")));
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = splitter().word_end(text, begin);
    RC_ASSERT(end == match(text, begin));
    begin = end;
  }
}

}  // namespace
}  // namespace headwater
