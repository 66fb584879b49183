#include "tokens/text_stream.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "text/utf8.h"
#include "tokens/bpe_fixtures.h"

namespace headwater {
namespace {

// The pieces, each valid by itself.
std::vector<std::string> pieces_of(const AnyTokenizer& tokenizer, std::span<const int32_t> ids) {
  TextStream stream(tokenizer);
  std::vector<std::string> pieces;
  for (const int32_t id : ids) {
    const auto piece = stream.add(id);
    EXPECT_TRUE(piece) << piece.error().to_string();
    pieces.push_back(*piece);
  }
  pieces.push_back(stream.finish());
  for (const std::string& piece : pieces) EXPECT_FALSE(first_invalid_utf8(piece)) << piece;
  return pieces;
}

std::string joined(const std::vector<std::string>& pieces) {
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  return text;
}

AnyTokenizer byte_level() { return must_create(mini_bpe()); }

TEST(TextStream, HoldsPartsOfACharacterBack) {
  const AnyTokenizer tokenizer = byte_level();
  const auto& bytes = tokenizer.byte_pairs()->model().byte_ids();
  std::vector<int32_t> ids;
  for (const char c : std::string("a😀각")) ids.push_back(bytes[static_cast<uint8_t>(c)]);
  EXPECT_EQ(pieces_of(tokenizer, ids),
            (std::vector<std::string>{"a", "", "", "", "😀", "", "", "각", ""}));
  ids.pop_back();
  EXPECT_EQ(pieces_of(tokenizer, ids).back(), "\xEF\xBF\xBD");
}

// Whatever bytes come, the text is what replacing in the whole gives.
RC_GTEST_PROP(TextStream, EqualsTheWhole, ()) {
  static const AnyTokenizer tokenizer = byte_level();
  // Bytes that begin, continue and break characters of all sizes.
  const std::string alphabet = "a\x80\x8F\x90\x9F\xA0\xBF\xC0\xC2\xE0\xE1\xED\xEF\xF0\xF1\xF4\xF5";
  const auto letters =
      *rc::gen::container<std::vector<size_t>>(rc::gen::inRange<size_t>(0, alphabet.size()));
  std::string bytes;
  std::vector<int32_t> ids;
  for (const size_t i : letters) {
    bytes += alphabet[i];
    ids.push_back(tokenizer.byte_pairs()->model().byte_ids()[static_cast<uint8_t>(alphabet[i])]);
  }
  RC_ASSERT(joined(pieces_of(tokenizer, ids)) == replace_invalid_utf8(bytes));
}

TEST(TextStream, WordPieces) {
  const auto vocabulary =
      Vocabulary::from_tokens({"[UNK]", "un", "##able", "to", "##"}, "vocab.txt");
  ASSERT_TRUE(vocabulary) << vocabulary.error().to_string();
  const AnyTokenizer tokenizer = *Tokenizer::create(*vocabulary, {});
  const std::vector<int32_t> ids = {1, 2, 3, 4, 0};
  EXPECT_EQ(joined(pieces_of(tokenizer, ids)), *tokenizer.decode(ids));
  EXPECT_EQ(joined(pieces_of(tokenizer, ids)), "unable to ## [UNK]");
}

TEST(TextStream, RefusesWhatIsNoToken) {
  const AnyTokenizer tokenizer = byte_level();
  TextStream stream(tokenizer);
  EXPECT_FALSE(stream.add(-1));
  EXPECT_FALSE(stream.add(static_cast<int32_t>(tokenizer.size())));
}

}  // namespace
}  // namespace headwater
