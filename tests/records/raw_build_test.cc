// `records build --task raw`: one example per line or record.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "records/build_fixture.h"

namespace headwater {
namespace {

class RawBuildTest : public BuildTest {
 protected:
  void SetUp() override {
    BuildTest::SetUp();
    options_.task = "raw";
    specials_ = *open_tokenizer().special_ids();
  }
  std::vector<int64_t> framed(std::string_view text) {
    auto ids = ids_of(text);
    ids.insert(ids.begin(), specials_.cls);
    ids.push_back(specials_.sep);
    return ids;
  }
  using Lists = std::vector<std::vector<int64_t>>;

  SpecialIds specials_;
};

TEST_F(RawBuildTest, OneExamplePerLine) {
  use_corpus("기분이 좋다.\n\n  오늘.\n \n내일 기분.\n");
  const auto summary = must_build();
  EXPECT_EQ(input_ids(summary),
            (Lists{framed("기분이 좋다."), framed("오늘."), framed("내일 기분.")}));
  EXPECT_EQ(summary.counts.documents, 3);
  EXPECT_EQ(summary.counts.kept_tokens, summary.counts.tokens);
  EXPECT_TRUE(parse_example(records(summary)[0])->size() == 1);
}

TEST_F(RawBuildTest, WithoutSpecialTokens) {
  use_corpus("기분이 좋다.\n");
  options_.raw.add_special_tokens = false;
  EXPECT_EQ(input_ids(must_build()), Lists{ids_of("기분이 좋다.")});
}

TEST_F(RawBuildTest, BytePairsKeepTheLineAsItStands) {
  options_.vocab_file = "bpe";
  use_corpus(" 기분이  좋다. \n\t오늘.\n");
  EXPECT_EQ(input_ids(must_build()), (Lists{ids_of(" 기분이  좋다. "), ids_of("\t오늘.")}));
}

// Case B026.
TEST_F(RawBuildTest, CutsLongLinesAndSaysSo) {
  use_corpus("기분이 좋다. 기분이 좋다.\n오늘.\n");
  options_.max_seq_length = 6;
  const auto summary = must_build();
  auto expected = framed("기분이 좋다. 기분이 좋다.");
  const auto lost = static_cast<int64_t>(expected.size()) - 6;
  ASSERT_GT(lost, 0);
  expected.resize(5);
  expected.push_back(specials_.sep);
  EXPECT_EQ(input_ids(summary)[0], expected);
  EXPECT_EQ(summary.counts.cut_examples, 1);
  EXPECT_EQ(summary.counts.lost_tokens, lost);
  EXPECT_TRUE(warns(summary, "1 of 2 examples were cut at 6 tokens"));
  const Json manifest = *parse_json(files_in("out").at("manifest.json"), "manifest");
  EXPECT_EQ(manifest["counts"]["cut_examples"], 1);
  EXPECT_EQ(manifest["options"]["add_special_tokens"], true);
}

TEST_F(RawBuildTest, ARecordIsAnExample) {
  use_corpus("{\"text\": \"기분이\\n\\n좋다.\"}\n{\"text\": \"\"}\n{\"text\": \"오늘.\"}\n",
             "a.jsonl");
  EXPECT_EQ(input_ids(must_build()), (Lists{framed("기분이 좋다."), framed("오늘.")}));
}

TEST_F(RawBuildTest, AColumnOfATable) {
  use_corpus("id\tdocument\n1\t기분이 좋다.\n2\t오늘.\n", "a.tsv");
  options_.corpus.tsv_column = "document";
  EXPECT_EQ(input_ids(must_build()), (Lists{framed("기분이 좋다."), framed("오늘.")}));
}

TEST_F(RawBuildTest, Labels) {
  use_corpus("id\tdocument\tlabel\n1\t기분이 좋다.\t1\n2\t오늘.\t0\n3\t \t1\n4\t내일.\t12\n",
             "a.tsv");
  options_.corpus.tsv_column = "document";
  options_.raw.label = "label";
  const auto labels = [&](const RecordsBuildSummary& summary) {
    std::vector<int64_t> all;
    for (const std::string& record : records(summary)) all.push_back(feature(record, "label")[0]);
    return all;
  };
  EXPECT_EQ(labels(must_build()), (std::vector<int64_t>{1, 0, 12}));
  options_.overwrite = true;
  options_.raw.label = "3";
  EXPECT_EQ(labels(must_build()), (std::vector<int64_t>{1, 0, 12}));
  ASSERT_TRUE(fs_.remove("one/a.tsv").has_value());
  options_.raw.label = "y";
  use_corpus(
      "{\"y\": 2, \"text\": \"오늘.\"}\n{\"text\": \"내일.\", \"y\": \"3\"}\n"
      "{\"text\": \"내일.\", \"y\": true}\n",
      "a.jsonl");
  EXPECT_EQ(labels(must_build()), (std::vector<int64_t>{2, 3, 1}));
}

TEST_F(RawBuildTest, LabelsThatAreNone) {
  options_.raw.label = "y";
  use_corpus("{\"text\": \"오늘.\", \"y\": \"good\"}\n", "a.jsonl");
  EXPECT_NE(error().find("one/a.jsonl: line 1: the label 'good' is no class; number the classes"),
            std::string::npos);
  use_corpus("{\"text\": \"오늘.\", \"y\": -1}\n", "a.jsonl");
  EXPECT_NE(error().find("the label '-1' is no class"), std::string::npos);
  use_corpus("{\"text\": \"오늘.\", \"y\": [1]}\n", "a.jsonl");
  EXPECT_NE(error().find("one/a.jsonl: line 1: no number or text in field 'y'"), std::string::npos);
  ASSERT_TRUE(fs_.remove("one/a.jsonl").has_value());
  use_corpus("오늘.\n");
  EXPECT_NE(error().find("one/a.txt: line 1: a plain text has no label"), std::string::npos);
  ASSERT_TRUE(fs_.remove("one/a.txt").has_value());
  options_.corpus.tsv_column = "1";
  options_.raw.label = "3";
  use_corpus("오늘.\t1\n", "a.tsv");
  EXPECT_NE(error().find("2 columns, but the label is in column 3"), std::string::npos);
  options_.raw.label = "0";
  EXPECT_NE(error().find("column 0: must be 1 or more"), std::string::npos);
}

TEST_F(RawBuildTest, DoesNotDependOnThreads) {
  use_many_files();
  expect_same_on_all_threads(false);  // files of equal lines: their order does not show
}

TEST_F(RawBuildTest, NoTextIsAnError) {
  use_corpus("\n \n");
  EXPECT_NE(error().find("hold no text"), std::string::npos);
}

}  // namespace
}  // namespace headwater
