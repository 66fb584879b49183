#include "tokens/bpe_tokenizer.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <random>

#include "text/gpt2_splitter.h"
#include "text/utf8.h"
#include "tokens/bpe_fixtures.h"
#include "tokens/bpe_merger.h"

namespace headwater {
namespace {

using Ids = std::vector<int32_t>;

std::string join(const BpeTokenizer& tokenizer, std::string_view text) {
  std::string out;
  for (const int32_t id : ids_of(tokenizer, text))
    out += (out.empty() ? "" : " ") + tokenizer.model().text(id);
  return out;
}

TEST(BpeTokenizer, MergesByRank) {
  const BpeTokenizer tokenizer = must_create(mini_bpe());
  EXPECT_EQ(join(tokenizer, "hello"), "hello");
  EXPECT_EQ(join(tokenizer, "hello hello"), "hello Ġhello");
  EXPECT_EQ(join(tokenizer, "hell world"), "hell Ġw o r l d");
  EXPECT_EQ(join(tokenizer, "안"), "ìķĪ");
  EXPECT_EQ(join(tokenizer, ""), "");
}

// Every row, token for token, with what Hugging Face and tiktoken agree on.
TEST(BpeTokenizer, EveryRow) {
  HW_NEEDS_SHARED(kGpt2Folder);
  const std::string folder = shared_path("fixtures/tokenizers/");
  const BpeModel model = gpt2_model();
  EXPECT_EQ(model.size(), 50257);
  const BpeTokenizer plain = must_create(model);
  const BpeTokenizer special = must_create(model, {.parse_specials = true});
  EXPECT_EQ(plain.end_of_text(), 50256);
  std::map<int64_t, std::string> texts;
  for (const Json& row : read_json_lines(folder + "strings.jsonl")) texts[row["id"]] = row["text"];
  int specials = 0;
  for (const Json& row : read_json_lines(folder + "gpt2.jsonl")) {
    const std::string& text = texts.at(row["id"]);
    const auto ids = row["ids"].get<Ids>();
    ASSERT_EQ(ids_of(plain, text), ids) << row["id"] << ": " << text;
    ASSERT_EQ(ids_of(special, text), row.value("special_ids", ids)) << text;
    specials += row.contains("special_ids") ? 1 : 0;
    ASSERT_EQ(*plain.decode(ids), text);
    const std::vector<Token> tokens = plain.tokenize(text);
    ASSERT_EQ(tokens.size(), ids.size());
    for (size_t i = 0; i < ids.size(); ++i) {
      ASSERT_EQ(tokens[i].id, ids[i]);
      ASSERT_EQ(model.text(ids[i]), row["tokens"][i].get<std::string>());
      ASSERT_EQ(tokens[i].begin, row["offsets"][i][0].get<size_t>()) << row["id"] << " " << i;
      ASSERT_EQ(tokens[i].end, row["offsets"][i][1].get<size_t>()) << row["id"] << " " << i;
    }
  }
  EXPECT_EQ(specials, 2);
}

TEST(BpeTokenizer, RealKorean) {
  HW_NEEDS_SHARED(kGpt2Folder);
  const BpeTokenizer tokenizer = must_create(gpt2_model());
  const auto rows = read_json_lines(shared_path("fixtures/tokenizers/real_ko.jsonl"));
  ASSERT_EQ(rows.size(), 500u);
  for (const Json& row : rows) {
    const std::string text = row["text"];
    ASSERT_EQ(ids_of(tokenizer, text), row["gpt2"].get<Ids>()) << text;
    ASSERT_EQ(*tokenizer.decode(row["gpt2"].get<Ids>()), text);
  }
}

// Whatever the length of a word, its ids are those of the plain way.
TEST(BpeTokenizer, AsThePlainWay) {
  HW_NEEDS_SHARED(kGpt2Folder);
  const BpeModel model = gpt2_model();
  const BpeMerger merger(model);
  const PlainMerger plain(model);
  std::mt19937 rng(3);
  const std::string syllables = "안녕하세요오늘은날씨가좋습니다";
  for (int round = 0; round < 60; ++round) {
    std::string word;
    const uint32_t kind = rng() % 3;
    for (uint32_t n = 1 + rng() % (round % 6 == 0 ? 300 : 40); n > 0; --n) {
      if (kind == 0) word += static_cast<char>('a' + rng() % 26);
      if (kind == 1) word += syllables.substr(rng() % (syllables.size() / 3) * 3, 3);
      if (kind == 2) word += static_cast<char>(rng() % 256);
    }
    Ids ids;
    merger.append_ids(word, ids);
    ASSERT_EQ(ids, plain.merge(word)) << word;
  }
}

// Random models, with pairs that make a token which another pair makes too.
RC_GTEST_PROP(BpeTokenizer, RandomModels, ()) {
  std::vector<std::string> tokens = {"a", "b", "c"};
  std::vector<std::pair<std::string, std::string>> merges;
  for (int n = *rc::gen::inRange(0, 12); n > 0; --n) {
    const auto left = *rc::gen::elementOf(tokens), right = *rc::gen::elementOf(tokens);
    merges.emplace_back(left, right);
    tokens.push_back(left + right);
  }
  const BpeModel model = must_make(parts_of(merges));
  const BpeMerger merger(model);
  const auto length = *rc::gen::inRange<size_t>(1, 150);
  const auto word =
      *rc::gen::container<std::string>(length, rc::gen::elementOf(std::string("abc")));
  Ids ids;
  merger.append_ids(word, ids);
  RC_ASSERT(ids == PlainMerger(model).merge(word));
}

RC_GTEST_PROP(BpeTokenizer, DecodesToTheBytes, ()) {
  static const BpeTokenizer tokenizer = must_create(mini_bpe(), {.parse_specials = true});
  const auto pieces = *rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(
      std::vector<std::string>{"hello", " ", "안", "\n", "<|endoftext|>", "<|", "😀", "'s", "1"}));
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  RC_ASSERT(*tokenizer.decode(ids_of(tokenizer, text)) == text);
  size_t end = 0;
  for (const Token& token : tokenizer.tokenize(text)) {
    RC_ASSERT(token.begin == end);
    end = token.end;
    RC_ASSERT(*tokenizer.decode(std::vector{token.id}) ==
              text.substr(token.begin, token.end - token.begin));
  }
  RC_ASSERT(end == text.size());
}

TEST(BpeTokenizer, PrefixSpace) {
  const BpeTokenizer tokenizer =
      must_create(mini_bpe(), {.parse_specials = true, .add_prefix_space = true});
  EXPECT_EQ(join(tokenizer, "hello"), "Ġhello");
  EXPECT_EQ(join(tokenizer, " hello"), "Ġhello");
  EXPECT_EQ(join(tokenizer, "\nhello"), "Ġ Ċ hello");
  EXPECT_EQ(join(tokenizer, ""), "");
  EXPECT_EQ(join(tokenizer, "hello<|endoftext|>hello"), "Ġhello <|endoftext|> Ġhello");
  const std::vector<Token> tokens = tokenizer.tokenize("hello<|endoftext|>he");
  ASSERT_EQ(tokens.size(), 4u);
  EXPECT_EQ(tokens[0], (Token{tokens[0].id, 0, 5}));
  EXPECT_EQ(tokens[1], (Token{*tokenizer.end_of_text(), 5, 18}));
  EXPECT_EQ(tokens[2], (Token{tokens[2].id, 18, 18}));  // the blank that was added
  EXPECT_EQ(tokens[3], (Token{tokens[3].id, 18, 20}));
}

TEST(BpeTokenizer, NormalFormWithOffsets) {
  const BpeTokenizer tokenizer = must_create(mini_bpe(), {.normalize = "nfc"});
  const std::vector<Token> tokens = tokenizer.tokenize("\u110b\u1161\u11ab!");  // a decomposed 안
  ASSERT_EQ(tokens.size(), 2u);
  EXPECT_EQ(tokenizer.model().text(tokens[0].id), "ìķĪ");
  EXPECT_EQ(tokens[0], (Token{tokens[0].id, 0, 9}));
  EXPECT_EQ(tokens[1], (Token{tokens[1].id, 9, 10}));
}

TEST(BpeTokenizer, AddedTokens) {
  BpeParts parts = parts_of({{"h", "e"}});
  const auto next = [&] {
    return static_cast<int32_t>(parts.tokens.size() + parts.added.size() - 1);
  };
  parts.added.push_back({"<mask>", next(), true, true, false});
  parts.added.push_back({"한국", next(), false, false, true});
  parts.added.push_back({"한국어", next(), false, false, false});
  const BpeTokenizer plain = must_create(must_make(parts));
  EXPECT_EQ(join(plain, "한국 he"), "한국 he");
  EXPECT_EQ(join(plain, "한국어"), "한국어");
  EXPECT_EQ(join(plain, "<mask>"), "< m a s k >");
  const BpeTokenizer special = must_create(must_make(parts), {.parse_specials = true});
  EXPECT_EQ(join(special, "he <mask>he"), "he <mask> he");
  EXPECT_EQ(special.tokenize("he <mask>")[1].begin, 2u);
}

TEST(BpeTokenizer, RefusesOptionsOfWordPiece) {
  for (const TokenizerOptions& options :
       {TokenizerOptions{.do_lower_case = true}, TokenizerOptions{.max_word_chars = 3},
        TokenizerOptions{.isolate_emoji = true}, TokenizerOptions{.strip_accents = true},
        TokenizerOptions{.normalize = "x"}, TokenizerOptions{.max_jamo_run = -1}})
    EXPECT_FALSE(BpeTokenizer::create(mini_bpe(), options));
}

TEST(BpeTokenizer, DecodeNamesABadId) {
  const BpeTokenizer tokenizer = must_create(mini_bpe());
  for (const int32_t id : {-1, 265, 1 << 30}) {
    const auto text = tokenizer.decode(std::vector{id});
    ASSERT_FALSE(text);
    EXPECT_NE(text.error().message.find(std::to_string(id)), std::string::npos);
  }
}

// A word of a million characters is merged in n log n.
TEST(BpeTokenizer, LongWords) {
  const BpeTokenizer tokenizer = must_create(must_make(parts_of({{"a", "a"}, {"aa", "aa"}})));
  EXPECT_EQ(ids_of(tokenizer, std::string(1000001, 'a')).size(), 250001u);
}

}  // namespace
}  // namespace headwater
