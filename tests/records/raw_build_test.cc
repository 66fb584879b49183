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

TEST_F(RawBuildTest, DoesNotDependOnThreads) {
  use_many_files();
  expect_same_on_all_threads(true);
}

TEST_F(RawBuildTest, NoTextIsAnError) {
  use_corpus("\n \n");
  EXPECT_NE(error().find("hold no text"), std::string::npos);
}

}  // namespace
}  // namespace headwater
