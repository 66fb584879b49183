#include "records/long_lines.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>
#include <string>

#include "text/utf8.h"

namespace headwater {
namespace {

std::vector<std::string> sentences_of(std::string_view line) {
  std::vector<std::string> sentences;
  while (!line.empty()) sentences.emplace_back(take_sentence(line));
  return sentences;
}

using Texts = std::vector<std::string>;

TEST(TakeSentence, AtSentenceEndsBeforeWhiteSpace) {
  EXPECT_EQ(sentences_of("오늘은 비가 왔다. 내일은? 모른다!"),
            (Texts{"오늘은 비가 왔다. ", "내일은? ", "모른다!"}));
  EXPECT_EQ(sentences_of("값은 3.14이다.  끝…\u3000다음"),
            (Texts{"값은 3.14이다.  ", "끝…\u3000", "다음"}));
  EXPECT_EQ(sentences_of("“갔다.” 그가 말했다. (정말?) 응"),
            (Texts{"“갔다.” ", "그가 말했다. ", "(정말?) ", "응"}));
  EXPECT_EQ(sentences_of("끝이 없는 글"), (Texts{"끝이 없는 글"}));
  EXPECT_EQ(sentences_of("。 ."), (Texts{"。 ", "."}));
  EXPECT_EQ(sentences_of(""), Texts{});
}

RC_GTEST_PROP(TakeSentence, PiecesMakeTheLine, ()) {
  const auto points = *rc::gen::container<std::u32string>(
      rc::gen::element<char32_t>('.', '?', ' ', 'a', 0xAC00, 0x2026, 0x201D, 0x3000, 0x1F600));
  const std::string line = utf32_to_utf8(points);
  std::string joined;
  for (const auto& piece : sentences_of(line)) {
    RC_ASSERT(!piece.empty());
    joined += piece;
  }
  RC_ASSERT(joined == line);
}

TEST(PieceLength, CutsBeforeAWordNearHalfAnExample) {
  const std::vector<bool> continues = {false, true};
  std::vector<int32_t> ids(100, 0);
  EXPECT_EQ(piece_length(std::span(ids).first(30), 32, continues), 30u);  // fits
  EXPECT_EQ(piece_length(ids, 32, continues), 16u);
  ids[16] = 1;  // the word goes on
  EXPECT_EQ(piece_length(ids, 32, continues), 17u);
  std::fill(ids.begin(), ids.end(), 1);  // one endless word
  EXPECT_EQ(piece_length(ids, 32, continues), 16u);
}

RC_GTEST_PROP(PieceLength, AlwaysMovesOnAndFits, ()) {
  const auto length = *rc::gen::inRange<int64_t>(5, 200);
  const auto ids =
      *rc::gen::nonEmpty(rc::gen::container<std::vector<int32_t>>(rc::gen::inRange(0, 2)));
  const size_t size = piece_length(ids, length, {false, true});
  RC_ASSERT(size >= 1u && size <= ids.size());
  RC_ASSERT(static_cast<int64_t>(size) <= length - 2);
}

}  // namespace
}  // namespace headwater
