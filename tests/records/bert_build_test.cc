// `records build --task bert`: features, masks, copies, and what is said about a corpus.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "records/build_fixture.h"

namespace headwater {
namespace {

class BertBuildTest : public BuildTest {
 protected:
  void SetUp() override {
    BuildTest::SetUp();
    options_.task = "bert";
    specials_ = *open_tokenizer().special_ids();
  }
  static std::vector<float> weights(const std::string& record) {
    return std::get<std::vector<float>>(parse_example(record)->at("masked_lm_weights"));
  }
  void use_long_corpus() {
    std::string text;
    for (int i = 0; i < 60; ++i)
      text += golden("corpus/part_00.txt") + "\n" + golden("corpus/part_01.txt") + "\n";
    use_corpus(text);
  }
  std::vector<std::string> keys_of(const std::string& record) {
    std::vector<std::string> keys;
    const Example example = *parse_example(record);
    for (const auto& [key, values] : example) keys.push_back(key);
    return keys;
  }

  SpecialIds specials_;
};

TEST_F(BertBuildTest, PairsAreFilledUpAndLabelled) {
  const auto summary = must_build();
  const auto all = records(summary);
  ASSERT_GT(all.size(), 5u);
  int64_t random = 0;
  for (const std::string& record : all) {
    EXPECT_EQ(keys_of(record), (std::vector<std::string>{"input_ids", "input_mask",
                                                         "next_sentence_labels", "segment_ids"}));
    const auto ids = feature(record, "input_ids"), mask = feature(record, "input_mask"),
               segments = feature(record, "segment_ids");
    ASSERT_TRUE(ids.size() == 32 && mask.size() == 32 && segments.size() == 32);
    const auto used = static_cast<size_t>(std::count(mask.begin(), mask.end(), 1));
    const auto first_sep =
        static_cast<size_t>(std::find(ids.begin(), ids.end(), specials_.sep) - ids.begin());
    EXPECT_EQ(ids[0], specials_.cls);
    EXPECT_EQ(ids[used - 1], specials_.sep);
    for (size_t t = 0; t < 32; ++t) {
      EXPECT_EQ(segments[t], t > first_sep && t < used ? 1 : 0);
      EXPECT_EQ(mask[t], t < used ? 1 : 0);
      if (t >= used) {
        EXPECT_EQ(ids[t], specials_.pad);
      }
    }
    const auto label = feature(record, "next_sentence_labels");
    ASSERT_EQ(label.size(), 1u);
    random += label[0];
  }
  EXPECT_EQ(summary.counts.positive_pairs, random);
  EXPECT_EQ(summary.counts.pairs, summary.counts.examples);
  const Json manifest = *parse_json(files_in("out").at("manifest.json"), "manifest");
  EXPECT_EQ(manifest["headwater_records"], "bert");
  EXPECT_EQ(manifest["counts"]["random_pairs"], random);
  EXPECT_EQ(manifest["options"]["masking"], "dynamic");
}

TEST_F(BertBuildTest, NoPadLeavesOutThePaddingAndItsMask) {
  options_.bert.pad = false;
  bool any_shorter = false;
  for (const std::string& record : records(must_build())) {
    EXPECT_EQ(keys_of(record),
              (std::vector<std::string>{"input_ids", "next_sentence_labels", "segment_ids"}));
    EXPECT_EQ(feature(record, "input_ids").size(), feature(record, "segment_ids").size());
    any_shorter = any_shorter || feature(record, "input_ids").size() < 32;
  }
  EXPECT_TRUE(any_shorter);
}

// The masks of one text: eight tenths [MASK], one as it was, one random; never a special token; as
// many as google's builder takes. Case B056.
TEST_F(BertBuildTest, StaticMasks) {
  use_long_corpus();
  options_.bert.masking = "static";
  const auto summary = must_build();
  int64_t masks = 0, kept = 0, slots = 0;
  for (const std::string& record : records(summary)) {
    const auto ids = feature(record, "input_ids"), mask = feature(record, "input_mask"),
               positions = feature(record, "masked_lm_positions"),
               labels = feature(record, "masked_lm_ids");
    const auto weight = weights(record);
    ASSERT_TRUE(positions.size() == 5 && labels.size() == 5 && weight.size() == 5);
    const auto tokens = std::count(mask.begin(), mask.end(), 1);
    const auto used = std::count(weight.begin(), weight.end(), 1.0F);
    // Halves to even, as Python rounds.
    const float wanted = std::nearbyint(0.15F * static_cast<float>(tokens));
    EXPECT_EQ(used, std::clamp<int64_t>(static_cast<int64_t>(wanted), 1, 5));
    for (size_t i = 0; i < 5; ++i) {
      const auto slot = static_cast<int64_t>(i);
      if (slot >= used) {
        EXPECT_TRUE(weight[i] == 0 && positions[i] == 0 && labels[i] == 0);
        continue;
      }
      if (i > 0) {
        EXPECT_LT(positions[i - 1], positions[i]);
      }
      ASSERT_TRUE(positions[i] > 0 && positions[i] < tokens);
      for (const int32_t never : {specials_.pad, specials_.cls, specials_.sep, specials_.mask})
        EXPECT_NE(labels[i], never);
      const int64_t shown = ids[static_cast<size_t>(positions[i])];
      masks += shown == specials_.mask;
      kept += shown == labels[i];
      ++slots;
    }
  }
  ASSERT_GT(slots, 3000);
  const auto share = [&](int64_t count) {
    return static_cast<double>(count) / static_cast<double>(slots);
  };
  EXPECT_NEAR(share(masks), 0.8, 0.03);
  EXPECT_NEAR(share(kept), 0.1, 0.02);
}

// Case B057.
TEST_F(BertBuildTest, WholeWords) {
  use_long_corpus();
  options_.bert.masking = "static";
  options_.bert.whole_word_masking = true;
  options_.bert.max_predictions_per_seq = 12;
  options_.bert.masked_lm_prob = 0.4;
  const AnyTokenizer tokenizer = open_tokenizer();
  int64_t pieces = 0;
  for (const std::string& record : records(must_build())) {
    auto ids = feature(record, "input_ids");
    const auto positions = feature(record, "masked_lm_positions"),
               labels = feature(record, "masked_lm_ids");
    std::vector<bool> drawn(ids.size());
    for (size_t i = 0; i < positions.size(); ++i) {
      if (positions[i] == 0) continue;
      ids[static_cast<size_t>(positions[i])] = labels[i];
      drawn[static_cast<size_t>(positions[i])] = true;
    }
    for (size_t t = 1; t < ids.size(); ++t) {
      const bool is_special = ids[t - 1] <= specials_.mask;
      if (tokenizer.starts_word(ids[t]) || is_special) continue;
      EXPECT_EQ(drawn[t], drawn[t - 1]) << t;
      pieces += drawn[t];
    }
  }
  EXPECT_GT(pieces, 50);
}

TEST_F(BertBuildTest, CopiesDiffer) {
  use_long_corpus();
  options_.bert.masking = "static";
  options_.bert.dupe_factor = 1;
  const auto once = must_build();
  options_.bert.dupe_factor = 3;
  options_.overwrite = true;
  const auto thrice = must_build();
  EXPECT_NEAR(static_cast<double>(thrice.counts.examples),
              3.0 * static_cast<double>(once.counts.examples),
              0.2 * static_cast<double>(once.counts.examples));
  const auto all = records(thrice);
  EXPECT_NE(all[0], all[all.size() / 3]);
  options_.bert.dupe_factor.reset();
  EXPECT_GT(must_build().counts.examples, 9 * once.counts.examples);  // google's ten
  EXPECT_EQ(options_.bert.copies(), 10);
}

TEST_F(BertBuildTest, SentenceOrder) {
  use_long_corpus();
  options_.bert.sentence_order = true;
  const auto summary = must_build();
  EXPECT_EQ(summary.counts.same_document_pairs, 0);
  const Json manifest = *parse_json(files_in("out").at("manifest.json"), "manifest");
  EXPECT_EQ(manifest["counts"]["swapped_pairs"], summary.counts.positive_pairs);
}

TEST_F(BertBuildTest, SingleSegmentsHoldTheWholeText) {
  options_.bert.pairs = false;
  options_.bert.pad = false;
  use_corpus("기분이 좋다.\n오늘.\n\n내일 기분이 좋네요.\n");
  options_.max_seq_length = 64;
  const auto summary = must_build();
  std::vector<int64_t> expected = {specials_.cls};
  for (const char* line : {"기분이 좋다.", "오늘.", "", "내일 기분이 좋네요."}) {
    const auto ids = ids_of(line);
    expected.insert(expected.end(), ids.begin(), ids.end());
    if (ids.empty()) expected.push_back(specials_.sep);
  }
  expected.push_back(specials_.sep);
  const auto all = records(summary);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(keys_of(all[0]), std::vector<std::string>{"input_ids"});
  EXPECT_EQ(feature(all[0], "input_ids"), expected);
  EXPECT_EQ(summary.counts.kept_tokens, summary.counts.tokens);
  EXPECT_EQ(summary.counts.pairs, 0);
}

TEST_F(BertBuildTest, ARecordIsADocument) {
  options_.bert.pairs = false;
  use_corpus("{\"text\": \"기분이\\n\\n좋다.\"}\n{\"text\": \"내일.\"}\n", "a.jsonl");
  EXPECT_EQ(must_build().counts.documents, 2);
  options_.blanks_separate_docs = false;
  options_.overwrite = true;
  EXPECT_EQ(must_build().counts.documents, 1);
}

TEST_F(BertBuildTest, DoesNotDependOnThreads) {
  use_many_files();
  options_.bert.masking = "static";
  options_.bert.dupe_factor = 2;
  expect_same_on_all_threads(true);
}

TEST_F(BertBuildTest, SingleSegmentsDoNotDependOnThreads) {
  use_many_files();
  options_.bert.masking = "static";
  options_.bert.dupe_factor = 1;
  options_.bert.pairs = false;
  expect_same_on_all_threads(true);
}

// A document over the size of a part, next to small ones.
TEST_F(BertBuildTest, AVeryLongDocumentIsTakenInParts) {
  std::string text;
  const std::string line = "기분이 좋다. 오늘 기분이 좋다. 내일도 기분이 좋네요. 기분이 좋다.\n";
  while (text.size() < size_t{5} << 20) text += line;
  use_corpus(text + "\n오늘.\n내일.\n");
  const auto summary = must_build();
  EXPECT_GT(summary.counts.tokens, static_cast<int64_t>(BertExamples::kMostTokens));
  EXPECT_EQ(summary.counts.documents, 2);
  EXPECT_GT(summary.counts.pairs, 1000);
}

TEST_F(BertBuildTest, SaysWhereRandomSentencesAreNotRandom) {
  std::string text;
  for (int i = 0; i < 30; ++i) text += "오늘 기분이 좋았다.\n";
  use_corpus(text);
  EXPECT_TRUE(warns(must_build(), "of the same document"));
  options_.overwrite = true;
  options_.bert.sentence_order = true;
  EXPECT_FALSE(warns(must_build(), "of the same document"));
}

TEST_F(BertBuildTest, SaysWhereDocumentsHaveOneLine) {
  std::string text;
  for (int i = 0; i < 30; ++i) text += "오늘 기분이 좋았다.\n\n";
  use_corpus(text);
  EXPECT_TRUE(warns(must_build(), "100 % of the pairs have a random next sentence"));
}

// RoBERTa's special tokens are not those of GPT-2.
TEST_F(BertBuildTest, BytePairsNeedTheSpecialTokens) {
  options_.vocab_file = "bpe";
  EXPECT_NE(error().find("lacks <pad>, <unk>, <s>, </s>, <mask>"), std::string::npos);
}

TEST_F(BertBuildTest, BytePairsWithThem) {
  Json tokenizer = *parse_json(test_golden("bpe/tokenizer.json"), "golden");
  auto next = static_cast<int64_t>(AnyTokenizer::open(fs_, "bpe")->size());
  for (const char* token : {"<s>", "<pad>", "</s>", "<unk>", "<mask>"})
    tokenizer["added_tokens"].push_back({{"id", next++},
                                         {"content", token},
                                         {"single_word", false},
                                         {"lstrip", false},
                                         {"rstrip", false},
                                         {"normalized", false},
                                         {"special", true}});
  fs_.put("roberta/tokenizer.json", dump_json(tokenizer));
  options_.vocab_file = "roberta";
  options_.bert.pairs = false;
  options_.bert.pad = false;
  use_corpus("기분이 좋다.\n");
  auto expected = ids_of("기분이 좋다.");
  const SpecialIds ids = *open_tokenizer().special_ids();
  expected.insert(expected.begin(), ids.cls);
  expected.push_back(ids.sep);
  const auto made = input_ids(must_build());
  ASSERT_EQ(made.size(), 1u);
  EXPECT_EQ(made[0], expected);
}

}  // namespace
}  // namespace headwater
