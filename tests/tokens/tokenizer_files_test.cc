#include "tokens/tokenizer_files.h"

#include <gtest/gtest.h>

#include <random>

#include "io/memory_files.h"
#include "tokens/any_tokenizer.h"
#include "tokens/bpe_fixtures.h"
#include "tokens/mini_vocabulary.h"

namespace headwater {
namespace {

using Ids = std::vector<int32_t>;

const std::string kGolden = std::string(HW_TESTS_DIR) + "/golden/";

AnyTokenizer must_open(FileSystem& fs, const std::string& path, TokenizerOptions options = {}) {
  auto tokenizer = AnyTokenizer::open(fs, path, options);
  if (!tokenizer) throw std::runtime_error(tokenizer.error().to_string());
  return *std::move(tokenizer);
}

Ids ids_of(const AnyTokenizer& tokenizer, std::string_view text) {
  Ids ids;
  tokenizer.append_ids(text, ids);
  return ids;
}

std::string open_error(FileSystem& fs, const std::string& path) {
  const auto tokenizer = AnyTokenizer::open(fs, path);
  return tokenizer ? "" : tokenizer.error().to_string();
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

void put_pair(MemoryFileSystem& fs, const std::string& vocab = "m/vocab.json",
              const std::string& merges = "m/merges.txt") {
  EXPECT_TRUE(fs.make_directories("m"));
  fs.put(vocab, vocab_json(mini_bpe()));
  fs.put(merges, merges_txt(mini_bpe()));
}

// A tokenizer.json that Hugging Face's tokenizers wrote, and what they make of texts with it.
TEST(TokenizerFiles, TokenizerJsonOfBytePairs) {
  const AnyTokenizer tokenizer =
      must_open(local_files(), kGolden + "bpe/tokenizer.json", {.parse_specials = true});
  const AnyTokenizer prefixed =
      must_open(local_files(), kGolden + "bpe", {.parse_specials = true, .add_prefix_space = true});
  ASSERT_NE(tokenizer.byte_pairs(), nullptr);
  EXPECT_EQ(tokenizer.size(), 901);
  EXPECT_EQ(tokenizer.end_of_text(), 900);
  for (const Json& row : read_json_lines(kGolden + "bpe/rows.jsonl")) {
    const std::string text = row["text"];
    const Ids ids = row["ids"].get<Ids>();
    EXPECT_EQ(ids_of(tokenizer, text), ids) << text;
    EXPECT_EQ(ids_of(prefixed, text), row["prefix_ids"].get<Ids>()) << text;
    EXPECT_EQ(*tokenizer.decode(ids), text);
    for (size_t i = 0; i < ids.size(); ++i)
      EXPECT_EQ(tokenizer.token(ids[i]), row["tokens"][i].get<std::string>());
  }
}

TEST(TokenizerFiles, TokenizerJsonOfWordPieces) {
  const auto files = read_tokenizer_files(local_files(), kGolden + "hf_tokenizer/tokenizer.json");
  ASSERT_TRUE(files) << files.error().to_string();
  const auto options = options_for(*files, {});
  ASSERT_TRUE(options) << options.error().to_string();
  EXPECT_EQ(options->compatibility, "hf");
  EXPECT_FALSE(options->do_lower_case);
  EXPECT_EQ(options->max_word_chars, 100);
  const Vocabulary& vocabulary = std::get<Vocabulary>(files->vocabulary);
  EXPECT_EQ(vocabulary.tokens(), must_load(kGolden + "hf_tokenizer/vocab.txt").tokens());
}

TEST(TokenizerFiles, GivenOptionsOutrankThoseOfTheFiles) {
  MemoryFileSystem fs;
  const std::string content = must_read(kGolden + "hf_tokenizer/tokenizer.json");
  fs.put("t.json", replaced(content, "\"lowercase\": false", "\"lowercase\": true"));
  EXPECT_TRUE(must_open(fs, "t.json").options().do_lower_case);
  EXPECT_EQ(must_open(fs, "t.json", {.max_word_chars = 7}).options().max_word_chars, 7);
  TokenizerOptions given;
  Fields origins;
  given.describe_all(origins);
  ASSERT_TRUE(origins.set_text("do_lower_case", "false", "--no-lower-case"));
  const auto merged = options_for(*read_tokenizer_files(fs, "t.json"), given, &origins);
  ASSERT_TRUE(merged);
  EXPECT_FALSE(merged->do_lower_case);
  EXPECT_EQ(merged->compatibility, "hf");
}

TEST(TokenizerFiles, PairsOfFilesByEitherName) {
  MemoryFileSystem hf, openai;
  put_pair(hf);
  put_pair(openai, "m/encoder.json", "m/vocab.bpe");
  for (const char* path : {"m", "m/vocab.json", "m/merges.txt"})
    EXPECT_EQ(must_open(hf, path).digest(), mini_bpe().digest()) << path;
  for (const char* path : {"m", "m/encoder.json", "m/vocab.bpe"})
    EXPECT_EQ(must_open(openai, path).digest(), mini_bpe().digest()) << path;
}

TEST(TokenizerFiles, Folders) {
  MemoryFileSystem fs;
  ASSERT_TRUE(fs.make_directories("w"));
  fs.put("w/vocab.txt", fmt::format("{}\n", fmt::join(mini_tokens(), "\n")));
  EXPECT_FALSE(must_open(fs, "w").options().do_lower_case);
  fs.put("w/tokenizer_config.json", R"({"do_lower_case": true, "strip_accents": null})");
  EXPECT_TRUE(must_open(fs, "w").options().do_lower_case);
  EXPECT_NE(must_open(fs, "w").word_pieces(), nullptr);
  EXPECT_FALSE(must_open(fs, "w/vocab.txt").options().do_lower_case);

  MemoryFileSystem pair;
  put_pair(pair);
  pair.put("m/tokenizer_config.json", R"({"add_prefix_space": true, "added_tokens_decoder":
      {"264": {"content": "<|endoftext|>", "special": true}, "265": {"content": "<x>"}}})");
  EXPECT_TRUE(must_open(pair, "m").options().add_prefix_space);
  EXPECT_EQ(ids_of(must_open(pair, "m"), "<x>"), (Ids{265}));
  EXPECT_EQ(must_open(pair, "m").end_of_text(), 264);
}

TEST(TokenizerFiles, WhatIsMissing) {
  MemoryFileSystem fs;
  put_pair(fs);
  ASSERT_TRUE(fs.make_directories("empty"));
  EXPECT_NE(open_error(fs, "empty").find("empty holds no tokenizer.json, no vocab.json with"),
            std::string::npos);
  EXPECT_NE(open_error(fs, "none").find("none"), std::string::npos);
  fs.put("v/vocab.json", vocab_json(mini_bpe()));
  fs.put("n/merges.txt", merges_txt(mini_bpe()));
  EXPECT_NE(open_error(fs, "v/vocab.json").find("put merges.txt beside it"), std::string::npos);
  EXPECT_NE(open_error(fs, "n/merges.txt").find("put vocab.json beside it"), std::string::npos);
}

// What a tokenizer.json says and this program does not do is named.
TEST(TokenizerFiles, WhatIsNotSupported) {
  const std::string bpe = must_read(kGolden + "bpe/tokenizer.json");
  const std::string pieces = must_read(kGolden + "hf_tokenizer/tokenizer.json");
  const auto expect = [](const std::string& content, const std::string& message) {
    MemoryFileSystem fs;
    fs.put("t.json", content);
    const std::string error = open_error(fs, "t.json");
    EXPECT_NE(error.find(message), std::string::npos) << error;
  };
  expect(R"({"model": {"type": "Unigram", "vocab": []}})",
         "t.json: model Unigram is not supported");
  expect(R"({"model": {}})", "model none is not supported");
  expect(replaced(bpe, "\"use_regex\":true", "\"use_regex\":false"), "use_regex false");
  expect(replaced(bpe, "\"type\":\"ByteLevel\"", "\"type\":\"Split\""), "pre_tokenizer Split");
  expect(replaced(bpe, "\"normalizer\":null", "\"normalizer\":{\"type\":\"Lowercase\"}"),
         "normalizer Lowercase");
  expect(replaced(bpe, "\"dropout\":null", "\"dropout\":0.1"), "dropout 0.1");
  expect(replaced(bpe, "\"byte_fallback\":false", "\"byte_fallback\":true"), "byte_fallback true");
  expect(replaced(bpe, "\"end_of_word_suffix\":null", "\"end_of_word_suffix\":\"</w>\""),
         "end_of_word_suffix \"</w>\"");
  expect(replaced(bpe, "\"single_word\":false", "\"single_word\":true"), "single_word");
  expect(replaced(bpe, "\"content\":\"<|endoftext|>\"", "\"content\":\"\""), "lacks its content");
  expect(replaced(bpe, "\"!\":0", "\"!\":1"), "id 1 is given to");
  expect(replaced(bpe, "[\"Ġ\",\"ì\"]", "[\"Ġ\",1]"), "is not a pair of tokens");
  expect(replaced(pieces, "_prefix\": \"##\"", "_prefix\": \"@@\""),
         "continuing_subword_prefix \"@@\"");
  expect(replaced(pieces, "\"clean_text\": true", "\"clean_text\": false"),
         "normalizer BertNormalizer without clean_text");
  expect(replaced(pieces, "\"BertPreTokenizer\"", "\"Whitespace\""), "pre_tokenizer Whitespace");
  expect(replaced(pieces, "\"max_input_chars_per_word\": 100", "\"max_input_chars_per_word\": 0"),
         "max_input_chars_per_word 0");
}

// ignore_merges: a word that is a token is that token, even where no merge leads to it.
TEST(TokenizerFiles, IgnoreMerges) {
  const std::string content = must_read(kGolden + "bpe/tokenizer.json");
  MemoryFileSystem fs;
  std::string more = replaced(content, "\"!\":0", "\"things\":899,\"!\":0");
  const auto free = parse_json(more, "more");
  ASSERT_TRUE(free);
  for (const auto& [token, id] : (*free)["model"]["vocab"].items())
    if (id == 899 && token != "things")
      more = replaced(more, fmt::format(",{}:899", dump_json(Json(token))), "");
  // Merges that make the token that was taken out must go too.
  Json json = *parse_json(more, "more");
  json["model"]["merges"] = Json::array();
  fs.put("plain.json", dump_json(json));
  json["model"]["ignore_merges"] = true;
  fs.put("ignore.json", dump_json(json));
  EXPECT_EQ(ids_of(must_open(fs, "plain.json"), "things").size(), 6u);
  EXPECT_EQ(ids_of(must_open(fs, "ignore.json"), "things"), (Ids{899}));
}

TEST(TokenizerFiles, DamagedFiles) {
  const std::string bpe = must_read(kGolden + "bpe/tokenizer.json");
  const std::string pieces = must_read(kGolden + "hf_tokenizer/tokenizer.json");
  std::mt19937 rng(5);
  for (const std::string& whole : {bpe, pieces}) {
    for (size_t cut = 1; cut < whole.size(); cut += whole.size() / 97)
      EXPECT_FALSE(read_tokenizer_json(whole.substr(0, whole.size() - 1 - cut), "t"));
    for (int round = 0; round < 150; ++round) {
      std::string damaged = whole;
      for (int n = 0; n < 4; ++n)
        damaged[rng() % damaged.size()] = "0123456789\"{}[],:ntrue\x80"[rng() % 22];
      (void)read_tokenizer_json(damaged, "t");
    }
  }
}

TEST(AnyTokenizer, DecodesWordPieces) {
  const AnyTokenizer tokenizer = must_create(mini_vocabulary());
  EXPECT_EQ(*tokenizer.decode(ids_of(tokenizer, "안녕하세요 one two")), "안녕하세요 one two");
  EXPECT_FALSE(tokenizer.decode(Ids{-1}));
  EXPECT_FALSE(tokenizer.decode(Ids{static_cast<int32_t>(tokenizer.size())}));
}

// Case B057: where words begin is the tokenizer's to say.
TEST(AnyTokenizer, StartsOfWords) {
  const AnyTokenizer pieces = must_create(mini_vocabulary()), pairs = must_create(mini_bpe());
  const auto starts = [](const AnyTokenizer& tokenizer, std::string_view text) {
    std::string out;
    for (const int32_t id : ids_of(tokenizer, text)) out += tokenizer.starts_word(id) ? '1' : '0';
    return out;
  };
  EXPECT_EQ(starts(pieces, "안녕하세요 one"), "101");
  EXPECT_EQ(starts(pairs, " hello world"), "110000");
  EXPECT_TRUE(pairs.starts_word(*pairs.end_of_text()));
}

}  // namespace
}  // namespace headwater
