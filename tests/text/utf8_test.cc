#include "text/utf8.h"

#include <gtest/gtest.h>

#include <random>

#include "text/white_space.h"

namespace headwater {
namespace {

TEST(Utf8, FindsTheFirstInvalidByte) {
  const std::vector<std::pair<std::string, std::optional<size_t>>> cases = {
      {"", {}},
      {"plain ascii, longer than a word", {}},
      {"한글과 漢字, é and \xF0\x9F\x98\x8A", {}},
      {"\xF4\x8F\xBF\xBF", {}},          // U+10FFFF
      {"abc\xFF", 3},                    // no lead byte
      {"\x80", 0},                       // continuation alone
      {"\xC0\x80", 0},                   // overlong NUL
      {"\xC1\xBF", 0},                   // overlong
      {"ok \xE0\x80\xAF", 3},            // overlong slash
      {"\xED\xA0\xBD\xED\xB8\x80", 0},   // surrogates, CESU-8
      {"\xED\x9F\xBF\xEE\x80\x80", {}},  // their neighbours
      {"\xF0\x8F\xBF\xBF", 0},           // overlong
      {"\xF4\x90\x80\x80", 0},           // over U+10FFFF
      {"\xF5\x80\x80\x80", 0},
      {"no end \xEC\x95", 7},  // cut off
      {"12345678\xEC\x95", 8},
      {"\xEC\x95x", 0},
      {"가나\xB0\xA1", 6},  // cp949 bytes
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(first_invalid_utf8(text), expected) << text;
}

TEST(Utf8, ReplacesMaximalInvalidParts) {
  const std::string r = "\xEF\xBF\xBD";
  EXPECT_EQ(replace_invalid_utf8("plain"), "plain");
  EXPECT_EQ(replace_invalid_utf8("abc\xFF"
                                 "def"),
            "abc" + r + "def");
  EXPECT_EQ(replace_invalid_utf8("\xC3("), r + "(");
  EXPECT_EQ(replace_invalid_utf8("\xEA\xB0"), r);
  EXPECT_EQ(replace_invalid_utf8("\xF0\x9F\x98"), r);
  EXPECT_EQ(replace_invalid_utf8("a\xF0\x9F"
                                 "b"),
            "a" + r + "b");
  EXPECT_EQ(replace_invalid_utf8("\xED\xA0\x80"), r + r + r);
  EXPECT_EQ(replace_invalid_utf8("\xE0\x80\xAF"), r + r + r);
  EXPECT_EQ(replace_invalid_utf8("\xF4\x90\x80\x80"), r + r + r + r);
  EXPECT_EQ(replace_invalid_utf8("\xF8\x88\x80\x80\x80"), r + r + r + r + r);
}

TEST(Utf8, EveryScalarValueGoesThereAndBack) {
  for (char32_t c = 0; c < 0x110000; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;
    std::string bytes;
    append_utf8(c, bytes);
    ASSERT_FALSE(first_invalid_utf8(bytes)) << uint32_t{c};
    size_t position = 0;
    ASSERT_EQ(decode_utf8(bytes, position), c);
    ASSERT_EQ(position, bytes.size());
    ASSERT_EQ(count_code_points(bytes), 1);
  }
}

// Random bytes: what is called valid decodes and encodes back to itself, what is replaced is valid.
TEST(Utf8, RandomBytes) {
  std::mt19937 rng(7);
  const std::string leads = "a\x80\xBF\xC2\xDF\xE0\xE1\xED\xEF\xF0\xF4\xFF\xA0\x90\x8F";
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (size_t i = rng() % 24; i > 0; --i)
      text.push_back(rng() % 2 ? leads[rng() % leads.size()] : static_cast<char>(rng()));
    const auto bad = first_invalid_utf8(text);
    const std::string valid = bad ? text.substr(0, *bad) : text;
    ASSERT_EQ(utf32_to_utf8(utf8_to_utf32(valid)), valid);
    const std::string repaired = replace_invalid_utf8(text);
    ASSERT_FALSE(first_invalid_utf8(repaired));
    ASSERT_EQ(repaired.substr(0, valid.size()), valid);
    ASSERT_EQ(repaired == text, !bad);
  }
}

TEST(WhiteSpace, StripsAsPythonDoes) {
  EXPECT_EQ(strip_white_space("  a b \t\r\n"), "a b");
  EXPECT_EQ(strip_white_space("\u3000\u00A0가\u2028\u0085\x1c"), "가");
  EXPECT_EQ(strip_white_space(" \u2003 "), "");
  EXPECT_EQ(strip_white_space(""), "");
  EXPECT_EQ(strip_white_space("\uFEFF가\u200B"), "\uFEFF가\u200B");  // no white space
}

}  // namespace
}  // namespace headwater
