// Every WordPiece row of the recorded fixtures: Hugging Face's ids, tokens and offsets, and the
// authors' own ids where they differ.
#include "tokens/fixtures.h"

namespace headwater {
namespace {

const std::string kFolder = "fixtures/tokenizers/";

struct Case {
  std::string rows, vocabulary;
  bool lower;
};

class TokenizerFixtures : public testing::TestWithParam<Case> {};

TEST_P(TokenizerFixtures, EveryRow) {
  HW_NEEDS_SHARED(kFolder);
  const Vocabulary vocabulary =
      must_load(shared_path(kFolder + "vocabs/" + GetParam().vocabulary + "/vocab.txt"));
  const bool lower = GetParam().lower;
  const Tokenizer electra = must_create(vocabulary, {.do_lower_case = lower});
  const Tokenizer hf = must_create(vocabulary, {.do_lower_case = lower, .compatibility = "hf"});
  std::map<int64_t, std::string> texts;
  for (const Json& row : read_json_lines(shared_path(kFolder + "strings.jsonl")))
    texts[row["id"]] = row["text"];
  const auto rows = read_json_lines(shared_path(kFolder + GetParam().rows));
  ASSERT_GE(rows.size(), 136u);
  for (const Json& row : rows) {
    const std::string& text = texts.at(row["id"]);
    const auto ids = row["ids"].get<std::vector<int32_t>>();
    ASSERT_EQ(ids_of(hf, text), ids) << row["id"] << ": " << text;
    ASSERT_EQ(ids_of(electra, text), row.value("ref_ids", ids)) << row["id"] << ": " << text;
    const std::vector<Token> tokens = hf.tokenize(text);
    ASSERT_EQ(tokens.size(), ids.size());
    for (size_t i = 0; i < ids.size(); ++i) {
      ASSERT_EQ(tokens[i].id, ids[i]);
      ASSERT_EQ(vocabulary.token(ids[i]), row["tokens"][i].get<std::string>());
      ASSERT_EQ(tokens[i].begin, row["offsets"][i][0].get<size_t>()) << row["id"] << " " << i;
      ASSERT_EQ(tokens[i].end, row["offsets"][i][1].get<size_t>()) << row["id"] << " " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Vocabularies, TokenizerFixtures,
                         testing::Values(Case{"koelectra_v3.jsonl", "koelectra-v3", false},
                                         Case{"koelectra_v1.jsonl", "koelectra-v1", false},
                                         Case{"bert_uncased.jsonl", "bert-base-uncased", true}));

TEST(RealLines, Korean) {
  HW_NEEDS_SHARED(kFolder);
  const Tokenizer v3 =
      must_create(must_load(shared_path(kFolder + "vocabs/koelectra-v3/vocab.txt")));
  const Tokenizer ko8k = must_create(must_load(shared_path(kFolder + "vocabs/ko8k/vocab.txt")));
  const auto rows = read_json_lines(shared_path(kFolder + "real_ko.jsonl"));
  ASSERT_EQ(rows.size(), 500u);
  for (const Json& row : rows) {
    const std::string text = row["text"];
    EXPECT_EQ(ids_of(v3, text), row["koelectra_v3"].get<std::vector<int32_t>>()) << text;
    EXPECT_EQ(ids_of(ko8k, text), row["ko8k"].get<std::vector<int32_t>>()) << text;
  }
}

}  // namespace
}  // namespace headwater
