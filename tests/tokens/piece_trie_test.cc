#include "tokens/piece_trie.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace headwater {
namespace {

using Pieces = std::vector<PieceTrie::Piece>;
using Ids = std::vector<int32_t>;

// Greedy longest match, by trying every length.
std::optional<Ids> greedy(const Pieces& pieces, const std::u32string& word) {
  std::map<std::pair<bool, std::u32string>, int32_t> ids;
  for (const auto& piece : pieces) ids[{piece.continuation, piece.text}] = piece.id;
  Ids out;
  for (size_t begin = 0; begin < word.size();) {
    size_t length = word.size() - begin;
    auto found = ids.end();
    for (; length > 0 && found == ids.end(); --length)
      found = ids.find({begin > 0, word.substr(begin, length)});
    if (found == ids.end()) return std::nullopt;
    out.push_back(found->second);
    begin += length + 1;
  }
  return out;
}

std::optional<Ids> match(const PieceTrie& trie, const std::u32string& word) {
  Ids ids(word.size() + 1, -7);
  int32_t* out = ids.data();
  int32_t state = PieceTrie::kWordStart;
  for (const char32_t c : word) {
    const uint32_t symbol = trie.symbol(c);
    if (symbol == 0) return std::nullopt;
    state = trie.step(state, symbol, out);
    if (state == PieceTrie::kStuck) return std::nullopt;
  }
  if (!trie.finish(state, out)) return std::nullopt;
  EXPECT_EQ(ids.back(), -7);  // at most as many tokens as symbols
  ids.resize(static_cast<size_t>(out - ids.data()));
  return ids;
}

TEST(PieceTrie, TheExampleOfThePaper) {
  const Pieces pieces = {{U"a", false, 0}, {U"abcdx", false, 1}, {U"b", true, 2},
                         {U"c", true, 3},  {U"cdy", true, 4},    {U"dz", true, 5}};
  const auto trie = PieceTrie::build(pieces);
  ASSERT_TRUE(trie);
  EXPECT_EQ(match(*trie, U"abcdz"), (Ids{0, 2, 3, 5}));
  EXPECT_EQ(match(*trie, U"abcdx"), (Ids{1}));
  EXPECT_EQ(match(*trie, U"abcd"), std::nullopt);
  EXPECT_EQ(match(*trie, U"abcdy"), (Ids{0, 2, 4}));
  EXPECT_EQ(match(*trie, U"b"), std::nullopt);
}

TEST(PieceTrie, NoPieces) {
  const auto trie = PieceTrie::build({});
  ASSERT_TRUE(trie);
  EXPECT_EQ(match(*trie, U"a"), std::nullopt);
}

TEST(PieceTrie, LastOfEqualPiecesCounts) {
  const auto trie = PieceTrie::build({{U"a", false, 3}, {U"a", true, 5}, {U"a", false, 9}});
  ASSERT_TRUE(trie);
  EXPECT_EQ(match(*trie, U"aa"), (Ids{9, 5}));
}

// Small alphabets and deep pieces make the failure links work.
TEST(PieceTrie, RandomVocabularies) {
  std::mt19937 rng(5);
  for (int round = 0; round < 400; ++round) {
    const uint32_t letters = 1 + rng() % 4;
    const auto word = [&](uint32_t longest) {
      std::u32string text;
      for (uint32_t i = 1 + rng() % longest; i > 0; --i) text += U"ab가\U0001F60A"[rng() % letters];
      return text;
    };
    Pieces pieces;
    for (uint32_t i = rng() % 40; i > 0; --i)
      pieces.push_back({word(1 + rng() % 9), rng() % 2 == 0, static_cast<int32_t>(rng() % 1000)});
    const auto trie = PieceTrie::build(pieces);
    ASSERT_TRUE(trie);
    for (int i = 0; i < 60; ++i) {
      const std::u32string text = word(24);
      ASSERT_EQ(match(*trie, text), greedy(pieces, text));
    }
  }
}

// Linear in the vocabulary, whatever it holds: long pieces over one letter would make the failure
// lists quadratic if they were stored one by one.
TEST(PieceTrie, LongPiecesOfOneLetter) {
  Pieces pieces = {{U"a", true, 1}, {U"a", false, 2}};
  pieces.push_back({std::u32string(200000, U'a') + U"b", false, 3});
  const auto trie = PieceTrie::build(pieces);
  ASSERT_TRUE(trie);
  const auto ids = match(*trie, std::u32string(1000, U'a'));
  ASSERT_TRUE(ids);
  EXPECT_EQ(ids->size(), 1000u);
}

TEST(PieceTrie, WideAlphabet) {
  Pieces pieces;
  for (char32_t c = 0xAC00; c < 0xD7A4; ++c) {
    pieces.push_back({{c}, false, static_cast<int32_t>(c)});
    pieces.push_back({{c, c + 1}, true, static_cast<int32_t>(c + 0x10000)});
  }
  const auto trie = PieceTrie::build(pieces);
  ASSERT_TRUE(trie);
  for (char32_t c = 0xAC00; c < 0xD7A0; c += 7) {
    EXPECT_EQ(match(*trie, {c, c + 2, c + 3}),
              (Ids{static_cast<int32_t>(c), static_cast<int32_t>(c + 0x10002)}));
    EXPECT_EQ(match(*trie, {c, c + 2}), std::nullopt);
  }
}

}  // namespace
}  // namespace headwater
