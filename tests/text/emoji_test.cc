#include "text/emoji.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace headwater {
namespace {

std::vector<std::string> emoji_in(std::string_view text) {
  std::vector<std::string> out;
  size_t from = 0;
  while (const auto found = find_emoji(text, from)) {
    out.emplace_back(text.substr(found->begin, found->end - found->begin));
    from = found->end;
  }
  return out;
}

using Strings = std::vector<std::string>;

TEST(Emoji, SequencesAreWhole) {
  EXPECT_EQ(emoji_in("glad😊"), (Strings{"😊"}));
  EXPECT_EQ(emoji_in("오늘😊😊 기분👍"), (Strings{"😊", "😊", "👍"}));
  EXPECT_EQ(emoji_in("👨‍👩‍👧 가족"), (Strings{"👨‍👩‍👧"}));
  EXPECT_EQ(emoji_in("❤️ ☎️ 1️⃣"), (Strings{"❤️", "☎️", "1️⃣"}));
  EXPECT_EQ(emoji_in("🇰🇷🇺🇸 👋🏽"), (Strings{"🇰🇷", "🇺🇸", "👋🏽"}));
  EXPECT_EQ(emoji_in("🏴\U000E0067\U000E0062\U000E007F"),
            (Strings{"🏴\U000E0067\U000E0062\U000E007F"}));
  EXPECT_EQ(emoji_in("👩🏽‍💻"), (Strings{"👩🏽‍💻"}));
  EXPECT_EQ(emoji_in("🇰"), (Strings{"🇰"}));
  EXPECT_EQ(emoji_in("🏽"), (Strings{"🏽"}));
}

TEST(Emoji, TextIsNot) {
  for (const char* text :
       {"", "plain 12 #*", "한글 ㅋㅋ 漢字", "© ® ™ → ↔ ‼", "é ½ ①", "\u200D", "\uFE0F", "3\u20E2"})
    EXPECT_EQ(emoji_in(text), Strings{}) << text;
  EXPECT_EQ(emoji_in("©️ ↔️"), (Strings{"©️", "↔️"}));  // asked for by U+FE0F
}

TEST(Emoji, JoinerWithoutPictureStaysOut) {
  EXPECT_EQ(emoji_in("😀\u200Da"), (Strings{"😀"}));
  EXPECT_EQ(emoji_in("😀\u200D"), (Strings{"😀"}));
}

}  // namespace
}  // namespace headwater
