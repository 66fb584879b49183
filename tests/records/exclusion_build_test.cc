// `records build --exclude`: lines of the corpus that hold a text of other files are left out.
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "io/memory_files.h"
#include "records/build_fixture.h"

namespace headwater {
namespace {

class ExclusionBuildTest : public BuildTest {
 protected:
  void expect_same_as_without_the_lines(const std::string& corpus, const std::string& cleaned,
                                        const std::string& name) {
    options_.overwrite = true;
    use_corpus(corpus, name);
    options_.exclude = {"test.txt"};
    const auto summary = must_build();
    const auto kept = records(summary);
    EXPECT_EQ(summary.counts.excluded(), 2);
    options_.exclude.clear();
    use_corpus(cleaned, name);
    EXPECT_EQ(records(must_build()), kept);
  }
};

TEST_F(ExclusionBuildTest, IsTheBuildOfTheCorpusWithoutTheLines) {
  fs_.put("test.txt", "내일 기분.\n오늘 날씨가 좋다.\n없는 줄\n");
  const std::string kept_a = "기분이 좋다.\n오늘.\n", kept_b = "좋다 기분이.\n\n오늘 기분.\n";
  const std::string corpus = kept_a + "내일 기분!\n" + kept_b + "오늘 날씨가 좋다\n";
  for (const char* task : {"electra", "bert", "gpt", "raw"}) {
    SCOPED_TRACE(task);
    options_.task = task;
    options_.max_seq_length = 16;
    options_.vocab_file = task == std::string("gpt") ? "bpe" : "vocab.txt";
    expect_same_as_without_the_lines(corpus, kept_a + kept_b, "a.txt");
  }
}

// A record of which nothing is left is no example, and its label goes with it.
TEST_F(ExclusionBuildTest, LabelsStayWithTheirTexts) {
  options_.task = "raw";
  options_.raw.label = "label";
  options_.corpus.tsv_column = "text";
  const std::string head = "text\tlabel\n";
  fs_.put("test.tsv", "text\tlabel\n내일 기분\t0\n오늘 기분\t0\n");
  use_corpus(head + "기분이 좋다.\t0\n내일 기분\t1\n오늘.\t2\n오늘 기분\t3\n", "a.tsv");
  options_.exclude = {"test.tsv"};
  const auto summary = must_build();
  EXPECT_EQ(summary.counts.excluded_exact, 2);
  std::vector<int64_t> labels;
  for (const std::string& record : records(summary))
    labels.push_back(feature(record, "label").at(0));
  EXPECT_EQ(labels, (std::vector<int64_t>{0, 2}));
}

TEST_F(ExclusionBuildTest, SameOnAllThreads) {
  use_many_files();
  const std::string text = golden("corpus/part_00.txt");
  fs_.put("test.txt", text.substr(0, text.find('\n')));
  options_.exclude = {"test.txt"};
  EXPECT_GT(must_build().counts.excluded_exact, 900);
  expect_same_on_all_threads(true);
}

TEST_F(ExclusionBuildTest, IsInTheManifest) {
  use_corpus("기분이 좋다.\n오늘.\n내일 기분.\n오늘 기분\n좋다.\n");
  fs_.put("test.txt", "내일 기분\n오늘 기분\n");
  options_.exclude = {"test.txt"};
  must_build();
  const Json manifest = Json::parse(fs_.files().at("out/manifest.json"));
  EXPECT_EQ(manifest["excluded"]["texts"], 2);
  EXPECT_EQ(manifest["excluded"]["lines_that_hold_one"], 2);
  EXPECT_EQ(manifest["excluded"]["lines_that_nearly_do"], 0);
  EXPECT_EQ(manifest["excluded"]["files"][0]["name"], "test.txt");
  EXPECT_EQ(manifest["counts"]["lines"], 5);
  options_.exclude.clear();
  options_.overwrite = true;
  must_build();
  EXPECT_FALSE(Json::parse(fs_.files().at("out/manifest.json")).contains("excluded"));
}

TEST_F(ExclusionBuildTest, SaysWhatIsOdd) {
  use_corpus("기분이 좋다.\n오늘.\n내일 기분.\n");
  fs_.put("test.txt", "오늘\n내일 기분\n");
  options_.exclude = {"test.txt"};
  EXPECT_TRUE(warns(must_build(), "2 of 3 lines are left out by --exclude"));
  options_.overwrite = true;
  options_.exclude = {"one"};
  EXPECT_NE(error().find("is the corpus itself among the files of --exclude?"), std::string::npos);
  fs_.put("empty.txt", " \n!\n");
  options_.exclude = {"empty.txt"};
  EXPECT_NE(error().find("empty.txt: no text to leave out (--exclude)"), std::string::npos);
  options_.exclude = {"missing.txt"};
  EXPECT_NE(error().find("missing.txt"), std::string::npos);
}

// KOTE: every test text is found in itself, and hardly any other comment holds one.
TEST(ExclusionRealText, FindsTestTextsAndNoOthers) {
  const char* shared = std::getenv("HW_SHARED");
  if (shared == nullptr) GTEST_SKIP() << "HW_SHARED is not set";
  const std::string data = std::string(shared) + "/data/";
  CorpusOptions second;
  second.tsv_column = "2";
  const std::vector<std::string> test = {data + "kote/test.tsv"};
  const auto exclusion = read_exclusion(local_files(), test, second);
  ASSERT_TRUE(exclusion.has_value()) << exclusion.error().to_string();
  EXPECT_GT(exclusion->texts.size(), 4900);
  ExcludedTexts::Scratch scratch;
  auto own = LineReader::open(local_files(), test.front(), second);
  auto other = LineReader::open(local_files(), data + "kote/val.tsv", second);
  ASSERT_TRUE(own.has_value() && other.has_value());
  int64_t held = 0, lines = 0, foreign = 0;
  for (std::string_view line; *own->next(line);) {
    if (line.empty()) continue;
    ++lines;
    held += exclusion->texts.match(line, scratch) == ExcludedTexts::Match::kHolds ? 1 : 0;
  }
  for (std::string_view line; *other->next(line);)
    foreign += exclusion->texts.match(line, scratch) == ExcludedTexts::Match::kNone ? 0 : 1;
  EXPECT_EQ(held, lines);
  EXPECT_LT(foreign, 10);
}

}  // namespace
}  // namespace headwater
