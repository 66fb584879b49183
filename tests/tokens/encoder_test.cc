#include "tokens/encoder.h"

#include <gtest/gtest.h>

#include "tokens/fixtures.h"
#include "tokens/mini_vocabulary.h"

namespace headwater {
namespace {

Encoder mini_encoder() { return *Encoder::create(must_create(mini_vocabulary())); }

using Ids = std::vector<int32_t>;

TEST(Encoder, OneTextAndTwo) {
  const Encoder encoder = mini_encoder();
  const auto one = encoder.encode("one two");
  ASSERT_TRUE(one);
  EXPECT_EQ(join_tokens(mini_vocabulary(), one->input_ids), "[CLS] one two [SEP]");
  EXPECT_EQ(one->token_type_ids, (Ids{0, 0, 0, 0}));
  const auto pair = encoder.encode_pair("one", "two one");
  ASSERT_TRUE(pair);
  EXPECT_EQ(join_tokens(mini_vocabulary(), pair->input_ids), "[CLS] one [SEP] two one [SEP]");
  EXPECT_EQ(pair->token_type_ids, (Ids{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(pair->attention_mask, (Ids{1, 1, 1, 1, 1, 1}));
}

TEST(Encoder, TruncationStrategies) {
  const Encoder encoder = mini_encoder();
  const auto lengths = [&](int first, int second, EncodeOptions options) {
    std::string a, b;
    for (int i = 0; i < first; ++i) a += "one ";
    for (int i = 0; i < second; ++i) b += "two ";
    const auto e = encoder.encode_pair(a, b, options);
    if (!e) return std::pair(-1L, -1L);
    const auto count = [&](std::string_view token) {
      return std::count(e->input_ids.begin(), e->input_ids.end(), *mini_vocabulary().find(token));
    };
    return std::pair(count("one"), count("two"));
  };
  using P = std::pair<long, long>;
  EXPECT_EQ(lengths(10, 2, {.max_length = 11}), P(6, 2));
  EXPECT_EQ(lengths(2, 10, {.max_length = 11}), P(2, 6));
  EXPECT_EQ(lengths(10, 10, {.max_length = 12}), P(4, 5));  // the odd one goes to the second
  EXPECT_EQ(lengths(10, 9, {.max_length = 12}), P(5, 4));   // or to the longer
  EXPECT_EQ(lengths(10, 10, {.max_length = 3}), P(0, 0));
  EXPECT_EQ(lengths(10, 10, {.max_length = 2}), P(-1, -1));
  EXPECT_EQ(lengths(8, 3, {.max_length = 10, .truncation = Truncation::kOnlyFirst}), P(4, 3));
  EXPECT_EQ(lengths(3, 8, {.max_length = 10, .truncation = Truncation::kOnlySecond}), P(3, 4));
  EXPECT_EQ(lengths(2, 20, {.max_length = 10, .truncation = Truncation::kOnlyFirst}), P(-1, -1));
  EXPECT_EQ(lengths(9, 9, {.max_length = 5, .truncation = Truncation::kNone}), P(9, 9));
}

TEST(Encoder, PadsOnlyWhenAsked) {
  const Encoder encoder = mini_encoder();
  const auto e = encoder.encode("one", {.max_length = 6, .pad = true});
  ASSERT_TRUE(e);
  EXPECT_EQ(join_tokens(mini_vocabulary(), e->input_ids), "[CLS] one [SEP] [PAD] [PAD] [PAD]");
  EXPECT_EQ(e->attention_mask, (Ids{1, 1, 1, 0, 0, 0}));
  EXPECT_EQ(encoder.encode("one", {.max_length = 6})->input_ids.size(), 3u);
}

TEST(Encoder, NeedsAllSpecials) {
  const Vocabulary v = *Vocabulary::from_tokens({"[PAD]", "[UNK]", "[CLS]", "[MASK]", "a"}, "v");
  const auto encoder = Encoder::create(must_create(v));
  ASSERT_FALSE(encoder);
  EXPECT_NE(encoder.error().message.find("[SEP]"), std::string::npos);
}

TEST(Encoder, RecordedPairs) {
  HW_NEEDS_SHARED("fixtures/tokenizers");
  std::map<std::string, Encoder> encoders;
  for (const Json& row : read_json_lines(shared_path("fixtures/tokenizers/encode_pairs.jsonl"))) {
    const std::string name = row["tokenizer"];
    if (!encoders.contains(name)) {
      const bool korean = name == "koelectra_v3";
      const std::string folder = korean ? "koelectra-v3" : "bert-base-uncased";
      encoders.emplace(
          name, *Encoder::create(must_create(
                    must_load(shared_path("fixtures/tokenizers/vocabs/" + folder + "/vocab.txt")),
                    {.do_lower_case = !korean, .compatibility = "hf", .parse_specials = true})));
    }
    const std::map<std::string, Truncation> strategies = {
        {"longest_first", Truncation::kLongestFirst},
        {"only_first", Truncation::kOnlyFirst},
        {"only_second", Truncation::kOnlySecond}};
    const EncodeOptions options{.max_length = row["max_length"],
                                .truncation = strategies.at(row["truncation"]),
                                .pad = row["padding"] == "max_length"};
    const Encoder& encoder = encoders.at(name);
    const std::string a = row["a"];
    // transformers takes an empty second text for none.
    const auto e = row["b"].is_null() || row["b"] == ""
                       ? encoder.encode(a, options)
                       : encoder.encode_pair(a, row["b"].get<std::string>(), options);
    ASSERT_TRUE(e);
    EXPECT_EQ(e->input_ids, row["input_ids"].get<Ids>()) << a;
    EXPECT_EQ(e->token_type_ids, row["token_type_ids"].get<Ids>()) << a;
    EXPECT_EQ(e->attention_mask, row["attention_mask"].get<Ids>()) << a;
  }
}

// Specials written in the text, as Hugging Face reads them.
TEST(Encoder, RecordedLiterals) {
  HW_NEEDS_SHARED("fixtures/tokenizers");
  const std::string folder = shared_path("fixtures/tokenizers/");
  std::map<int64_t, std::string> texts;
  for (const Json& row : read_json_lines(folder + "strings.jsonl")) texts[row["id"]] = row["text"];
  for (const bool lower : {false, true}) {
    const auto encoder = Encoder::create(
        must_create(must_load(folder + "vocabs/" + (lower ? "bert-base-uncased" : "koelectra-v3") +
                              "/vocab.txt"),
                    {.do_lower_case = lower, .compatibility = "hf", .parse_specials = true}));
    ASSERT_TRUE(encoder);
    int literals = 0;
    for (const Json& row :
         read_json_lines(folder + (lower ? "bert_uncased.jsonl" : "koelectra_v3.jsonl"))) {
      Ids expected = row["ids"].get<Ids>();
      expected.insert(expected.begin(), encoder->special_ids().cls);
      expected.push_back(encoder->special_ids().sep);
      if (row.contains("hf_ids")) expected = row["hf_ids"].get<Ids>(), ++literals;
      EXPECT_EQ(encoder->encode(texts.at(row["id"]))->input_ids, expected) << texts.at(row["id"]);
    }
    EXPECT_EQ(literals, 17);
  }
}

}  // namespace
}  // namespace headwater
