#include "tokens/bpe_model.h"

#include <gtest/gtest.h>

#include <random>

#include "io/memory_files.h"
#include "tokens/bpe_fixtures.h"

namespace headwater {
namespace {

std::string load_error(const std::string& vocab, const std::string& merges) {
  MemoryFileSystem fs;
  fs.put("vocab.json", vocab);
  fs.put("merges.txt", merges);
  const auto model = BpeModel::load(fs, "vocab.json", "merges.txt");
  return model ? "" : model.error().to_string();
}

TEST(ByteAlphabet, Gpt2s) {
  EXPECT_EQ(bytes_to_alphabet(" a\n"), "ĠaĊ");
  EXPECT_EQ(bytes_to_alphabet(std::string("\0\x7F\xAD\xFF", 4)), "ĀġŃÿ");
  EXPECT_EQ(alphabet_to_bytes("Ġa"), " a");
  EXPECT_EQ(alphabet_to_bytes("한"), std::nullopt);
  EXPECT_EQ(alphabet_to_bytes(" "), std::nullopt);
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all.push_back(static_cast<char>(byte));
  EXPECT_EQ(alphabet_to_bytes(bytes_to_alphabet(all)), all);
  EXPECT_EQ(bytes_in_alphabet_order()[0], '!');
  EXPECT_EQ(bytes_in_alphabet_order()[188], 0);
}

TEST(BpeModel, FilesComeBack) {
  const BpeModel model = mini_bpe();
  EXPECT_EQ(load_error(vocab_json(model), merges_txt(model)), "");
  MemoryFileSystem fs;
  fs.put("v", vocab_json(model));
  fs.put("m", merges_txt(model));
  const auto again = BpeModel::load(fs, "v", "m");
  ASSERT_TRUE(again);
  EXPECT_EQ(again->digest(), model.digest());
  EXPECT_EQ(again->size(), model.size());
  EXPECT_EQ(again->find(" hello"), model.find(" hello"));
  EXPECT_EQ(again->added().size(), 1u);
  EXPECT_TRUE(again->is_added(*again->find("<|endoftext|>")));
}

TEST(BpeModel, LinesOfMerges) {
  const std::string vocab = vocab_json(mini_bpe());
  EXPECT_EQ(load_error(vocab, ""), "");
  EXPECT_EQ(load_error(vocab, "#version: 0.2\r\nh e\r\n\n"), "");
  const auto expect = [&](const std::string& merges, const std::string& message) {
    const std::string error = load_error(vocab, merges);
    EXPECT_NE(error.find(message), std::string::npos) << error;
  };
  expect("#version: 0.2\nh e\nhe\n", "merges.txt, line 3: not a pair of tokens");
  expect("h e l\n", "line 1: not a pair");
  expect(" he\n", "line 1: not a pair");
  expect("he \n", "line 1: not a pair");
  expect("h e\nx y\n", "merges.txt, line 2: 'xy' is not in the vocabulary vocab.json");
  expect("\xFF e\n", "line 1: not UTF-8 at byte 0");
}

TEST(BpeModel, Vocabularies) {
  const auto expect = [&](const std::string& vocab, const std::string& message) {
    const std::string error = load_error(vocab, "");
    EXPECT_NE(error.find(message), std::string::npos) << error;
  };
  expect("{\"a\": 0,\n \"b\" 1}", "vocab.json: not valid JSON at line 2, column 6");
  expect("[]", "not a JSON object of tokens and ids");
  expect("{}", "vocab.json holds no token");
  expect("{\"a\": \"b\"}", "the id of token 'a' is not a whole number");
  expect("{\"a\": 0.5}", "not a whole number");
  expect("{\"a\": -1}", "token 'a' has id -1");
  expect("{\"a\": 99999}", "token 'a' has id 99999");
  expect("{\"a\": 18446744073709551615}", "token 'a' has id");
  expect("{\"a\": 1, \"b\": 1}", "id 1 is given to 'a' and again to 'b'");
  expect("{\"\": 1}", "token 1 is empty");
  expect("{\"a\": 1}", "lacks 255 of the 256 bytes, first '!'");
  expect(std::string(200, '[') + std::string(200, ']'), "nested deeper than 100");
  EXPECT_NE(load_error("{}", std::string(1, '\0')).size(), 0u);
}

TEST(BpeModel, GapsAndTokensOfPlainText) {
  BpeParts parts = parts_of({});
  parts.tokens.emplace_back("한국", 1000);
  parts.added.push_back({"<x>", 1002});
  const BpeModel model = must_make(parts);
  EXPECT_EQ(model.size(), 1003);
  EXPECT_EQ(model.bytes(1000), "한국");
  EXPECT_EQ(model.bytes(1001), "");
  EXPECT_EQ(model.find("<x>"), 1002);
  EXPECT_EQ(model.find(""), std::nullopt);
}

// Whatever a damaged file holds, there is a model or an error.
TEST(BpeModel, DamagedFiles) {
  const std::string vocab = vocab_json(mini_bpe()), merges = merges_txt(mini_bpe());
  for (size_t cut = 0; cut + 1 < vocab.size(); cut += 7)
    EXPECT_NE(load_error(vocab.substr(0, cut), merges), "");
  for (size_t cut = 0; cut < merges.size(); ++cut) load_error(vocab, merges.substr(0, cut));
  std::mt19937 rng(11);
  for (int round = 0; round < 400; ++round) {
    std::string v = vocab, m = merges;
    for (int n = 0; n < 3; ++n) v[rng() % v.size()] = static_cast<char>(rng());
    for (int n = 0; n < 3; ++n) m[rng() % m.size()] = static_cast<char>(rng());
    load_error(v, merges);
    load_error(vocab, m);
  }
}

}  // namespace
}  // namespace headwater
