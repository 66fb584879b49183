#include "text/excluded_texts.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "text/utf8.h"

namespace headwater {
namespace {

using Match = ExcludedTexts::Match;

Match match_of(const std::string& excluded, const std::string& line) {
  ExcludedTexts texts;
  texts.add(excluded);
  ExcludedTexts::Scratch scratch;
  return texts.match(line, scratch);
}

const std::string kText =
    "아버님 끝까지 진실이 밝혀질 때까지 저희가 응원하겠습니다.";  // 24 letters

TEST(ExcludedTexts, TheSameLettersAreTheSameText) {
  EXPECT_EQ(match_of(kText, kText), Match::kHolds);
  EXPECT_EQ(match_of(kText, "아버님, 끝까지진실이 밝혀질때까지 저희가응원하겠습니다!!"),
            Match::kHolds);
  EXPECT_EQ(match_of("A bit Longer than that", "a BIT longer, than THAT."), Match::kHolds);
  // Taken apart, as macOS writes it: the first syllables of the text as conjoining jamo.
  EXPECT_EQ(match_of("가나", "\u1100\u1161\u1102\u1161"), Match::kHolds);
  EXPECT_EQ(match_of(kText, "오늘은 날이 참 좋아서 밖으로 나가 오래 걸었습니다."), Match::kNone);
}

TEST(ExcludedTexts, ALineMayHoldMore) {
  EXPECT_EQ(match_of(kText, "댓글을 봤다. " + kText + " 라고 써 있었다."), Match::kHolds);
  // Half of it is not the text.
  EXPECT_EQ(match_of(kText, "아버님 끝까지 진실이 밝혀질"), Match::kNone);
}

TEST(ExcludedTexts, OneLetterOfALongTextMayDiffer) {
  const std::string longer = kText + " 절대로 포기하지 마시고 건강 잘 챙기셔야 합니다 꼭이요";
  std::string changed = longer;
  changed.replace(changed.find("절대로"), std::string("절대로").size(), "절때로");
  EXPECT_EQ(match_of(longer, changed), Match::kNearly);
  EXPECT_EQ(match_of(longer, "전혀 다른 이야기를 하는 줄인데 절대로 포기하지 마시고 싶다"),
            Match::kNone);
}

// Short texts and laughter stand everywhere.
TEST(ExcludedTexts, TextsOfFewRunsAreFoundAsWholeLinesOnly) {
  EXPECT_EQ(match_of("정말 좋아요", "정말 좋아요!"), Match::kHolds);
  EXPECT_EQ(match_of("정말 좋아요", "이 영화 정말 좋아요"), Match::kNone);
  const std::string laughter = "ㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋ";
  EXPECT_EQ(match_of(laughter, laughter), Match::kHolds);
  EXPECT_EQ(match_of(laughter, "웃기다 " + laughter), Match::kNone);
}

TEST(ExcludedTexts, NothingIsNothing) {
  ExcludedTexts texts;
  texts.add("");
  texts.add(" !? ");
  EXPECT_TRUE(texts.empty());
  texts.add("하나");
  texts.add("하나.");
  EXPECT_EQ(texts.size(), 1);
  EXPECT_EQ(match_of("하나", ""), Match::kNone);
  EXPECT_EQ(match_of("하나", "!?"), Match::kNone);
}

// Against the definition, without hashes: all or four fifths of a text's runs of six letters.
RC_GTEST_PROP(ExcludedTexts, AgreesWithTheDefinition, ()) {
  const auto letters = [](int from, int to) {
    std::string text;
    const int count = *rc::gen::inRange(from, to);
    for (int i = 0; i < count; ++i)
      append_utf8(static_cast<char32_t>(U'가' + *rc::gen::inRange(0, 4)), text);
    return text;
  };
  const auto runs = [](const std::string& text) {
    const std::u32string all = utf8_to_utf32(text);
    std::set<std::u32string> set;
    for (size_t i = 0; i + ExcludedTexts::kRunLetters <= all.size(); ++i)
      set.insert(all.substr(i, ExcludedTexts::kRunLetters));
    return set;
  };
  ExcludedTexts texts;
  std::vector<std::string> excluded;
  for (int i = 0; i < 3; ++i) texts.add(excluded.emplace_back(letters(0, 40)));
  std::string line =
      letters(0, 12) + excluded[static_cast<size_t>(*rc::gen::inRange(0, 3))] + letters(0, 12);
  if (!line.empty() && *rc::gen::arbitrary<bool>()) line.replace(line.size() / 6 * 3, 3, "가");
  Match expected = Match::kNone;
  const auto of_line = runs(line);
  for (const std::string& text : excluded) {
    if (text.empty()) continue;
    const auto of_text = runs(text);
    size_t shared = 0;
    for (const auto& run : of_text) shared += of_line.count(run);
    const bool counts = of_text.size() >= ExcludedTexts::kFewestRuns;
    if (line == text || (counts && shared == of_text.size())) expected = Match::kHolds;
    else if (counts && shared * 100 >= of_text.size() * ExcludedTexts::kNearPercent &&
             expected == Match::kNone)
      expected = Match::kNearly;
  }
  ExcludedTexts::Scratch scratch;
  const Match found = texts.match(line, scratch);
  RC_ASSERT(found == expected);
}

}  // namespace
}  // namespace headwater
