// `records build --task gpt`: blocks of joined documents, checked against joining by hand.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "records/build_fixture.h"

namespace headwater {
namespace {

using Ids = std::vector<int64_t>;

class GptBuildTest : public BuildTest {
 protected:
  void SetUp() override {
    BuildTest::SetUp();
    options_.task = "gpt";
    options_.vocab_file = "bpe";
    options_.num_out_files = 3;
    end_ = *open_tokenizer().end_of_text();
  }
  // Tokens of the documents with end-of-text behind each, cut every `length` tokens.
  std::vector<Ids> blocks_of(const std::vector<std::string>& documents, size_t length) {
    const AnyTokenizer tokenizer = open_tokenizer();
    std::vector<int32_t> all;
    for (const std::string& document : documents) {
      tokenizer.append_ids(document, all);
      all.push_back(static_cast<int32_t>(end_));
    }
    std::vector<Ids> blocks;
    for (size_t i = 0; i < all.size(); i += length)
      blocks.emplace_back(all.begin() + static_cast<ptrdiff_t>(i),
                          all.begin() + static_cast<ptrdiff_t>(std::min(i + length, all.size())));
    return blocks;
  }

  int64_t end_ = 0;
};

TEST_F(GptBuildTest, JoinsDocumentsAndCutsThemToBlocks) {
  use_corpus("첫 문장이다.\n둘째 문장.\n\n\n다른 글, 한 줄\n\n   끝 글 \n들여쓴 줄\n");
  options_.max_seq_length = 8;
  const auto summary = must_build();
  const auto expected =
      blocks_of({"첫 문장이다.\n둘째 문장.", "다른 글, 한 줄", "   끝 글 \n들여쓴 줄"}, 8);
  EXPECT_EQ(input_ids(summary), expected);
  EXPECT_EQ(summary.counts.documents, 3);
  EXPECT_EQ(summary.counts.lost_tokens, 0);
  EXPECT_EQ(summary.counts.kept_tokens, summary.counts.tokens);
  EXPECT_EQ(summary.counts.special_tokens, 3);
  for (const std::string& record : records(summary)) EXPECT_EQ(parse_example(record)->size(), 1u);
}

TEST_F(GptBuildTest, TheLastBlockIsKeptUnlessDropped) {
  use_corpus("첫 문장이다.\n둘째 문장.\n");
  options_.max_seq_length = 7;
  auto expected = blocks_of({"첫 문장이다.\n둘째 문장."}, 7);
  ASSERT_LT(expected.back().size(), 7u);
  EXPECT_EQ(input_ids(must_build()), expected);
  options_.gpt.last_block = "drop";
  options_.overwrite = true;
  const auto summary = must_build();
  const auto dropped = static_cast<int64_t>(expected.back().size());
  expected.pop_back();
  EXPECT_EQ(input_ids(summary), expected);
  EXPECT_EQ(summary.counts.lost_tokens, dropped - 1);  // without end-of-text
  EXPECT_EQ(summary.counts.tokens, summary.counts.kept_tokens + summary.counts.lost_tokens);

  options_.max_seq_length = 1000;
  EXPECT_NE(error().find("do not fill a block of 1000"), std::string::npos);
}

// Lanes hand on what they have left: however many files there are, one block is short.
TEST_F(GptBuildTest, OneShortBlockInAll) {
  use_many_files();
  options_.max_seq_length = 100;
  const auto summary = must_build();
  int64_t shorter = 0, tokens = 0, ends = 0;
  for (const Ids& ids : input_ids(summary)) {
    shorter += ids.size() < 100;
    tokens += static_cast<int64_t>(ids.size());
    ends += std::count(ids.begin(), ids.end(), end_);
  }
  EXPECT_LE(shorter, 1);
  EXPECT_EQ(ends, summary.counts.documents);
  EXPECT_EQ(tokens, summary.counts.tokens + summary.counts.documents);
}

TEST_F(GptBuildTest, OneDocumentPerExample) {
  use_corpus("짧다\n\n" + std::string("긴 글이 여기에 있다. 이 글은 길다.\n\n") + "끝\n");
  options_.max_seq_length = 10;
  options_.gpt.one_document_per_example = true;
  const auto summary = must_build();
  std::vector<Ids> expected;
  for (const char* document : {"짧다", "긴 글이 여기에 있다. 이 글은 길다.", "끝"})
    for (Ids& block : blocks_of({document}, 10)) expected.push_back(std::move(block));
  EXPECT_GT(expected.size(), 3u);
  EXPECT_EQ(input_ids(summary), expected);
}

TEST_F(GptBuildTest, ARecordIsADocumentWithItsBlankLines) {
  use_corpus("{\"text\": \"하나\\n\\n둘\\n\"}\n{\"text\": \" \\n\"}\n{\"text\": \"셋\"}\n",
             "a.jsonl");
  const auto summary = must_build();
  EXPECT_EQ(summary.counts.documents, 2);
  EXPECT_EQ(input_ids(summary), blocks_of({"하나\n\n둘\n", "셋"}, 32));
  options_.blanks_separate_docs = false;  // of plain files
  options_.overwrite = true;
  EXPECT_EQ(must_build().counts.documents, 2);
}

TEST_F(GptBuildTest, AFileIsADocumentWhereBlanksDoNotSeparate) {
  use_corpus("\n하나\n\n둘\n\n");
  options_.blanks_separate_docs = false;
  EXPECT_EQ(input_ids(must_build()), blocks_of({"하나\n\n둘\n"}, 32));
}

// A document is tokenised in parts of some hundred kilobytes: the tokens are those of the whole.
void check_long_document(MemoryFileSystem& fs, RecordsBuildOptions options, const std::string& text,
                         const std::vector<int32_t>& expected) {
  fs.put("long/a.txt", text);
  options.corpus_dir = "long";
  options.blanks_separate_docs = false;
  options.max_seq_length = 65536;
  options.num_out_files = 1;
  options.overwrite = true;
  const auto summary = build_records(fs, options);
  ASSERT_TRUE(summary.has_value()) << summary.error().to_string();
  std::vector<int64_t> made;
  for (const auto& record : payloads_of(fs, "out/pretrain_data.tfrecord-0-of-1")) {
    const auto ids = feature(record, "input_ids");
    made.insert(made.end(), ids.begin(), ids.end());
  }
  ASSERT_EQ(made.size(), expected.size() + 1);
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), made.begin()));
}

TEST_F(GptBuildTest, ALongDocumentHasTheTokensOfTheWhole) {
  const std::vector<std::string> lines = {"글 하나",  "  들여쓴 줄", "", "뒤에 빈칸  ",
                                          "\t탭",     "숫자 123",    "", "",
                                          "it's a b", "\u3000전각",  " "};
  RandomStream random(Key::from_seed(3));
  std::string text = "처음\n";
  while (text.size() < 5 * TextBlock::kBytes) text += lines[random.below(lines.size())] + "\n";
  text += "끝";
  for (const bool prefix : {false, true}) {
    options_.tokenizer.add_prefix_space = prefix;
    std::vector<int32_t> expected;
    open_tokenizer(options_.tokenizer).append_ids(text, expected);
    check_long_document(fs_, options_, text, expected);
  }
}

// Nothing but white space: no place to cut without a trace, and memory stays bounded.
TEST_F(GptBuildTest, ALongRunOfBlankLinesIsCutSomewhere) {
  options_.vocab_file = "vocab.txt";
  std::string text = "처음\n";
  text.append(20 * TextBlock::kBytes, '\n');
  use_corpus(text + "끝\n");
  options_.blanks_separate_docs = false;
  const auto summary = must_build();
  EXPECT_EQ(summary.counts.documents, 1);
  EXPECT_GT(summary.counts.tokens, 0);
}

TEST_F(GptBuildTest, WordPieceEndsWithSep) {
  options_.vocab_file = "vocab.txt";
  end_ = *open_tokenizer().find("[SEP]");
  use_corpus("기분이 좋다.\n오늘.\n\n내일.\n");
  EXPECT_EQ(input_ids(must_build()), blocks_of({"기분이 좋다.\n오늘.", "내일."}, 32));
}

TEST_F(GptBuildTest, EndOfTextByName) {
  use_corpus("가\n");
  options_.gpt.end_of_text = "!";
  end_ = *open_tokenizer().find("!");
  EXPECT_EQ(input_ids(must_build()), blocks_of({"가"}, 32));
  options_.gpt.end_of_text = "<none>";
  EXPECT_NE(error().find("has no token <none>"), std::string::npos);
}

// Case B016: a text cannot end itself.
TEST_F(GptBuildTest, EndOfTextInATextIsPlainText) {
  use_corpus("가 <|endoftext|> 나\n");
  Ids ids = input_ids(must_build()).at(0);
  EXPECT_EQ(std::count(ids.begin(), ids.end(), end_), 1);
  options_.tokenizer.parse_specials = options_.overwrite = true;
  ids = input_ids(must_build()).at(0);
  EXPECT_EQ(std::count(ids.begin(), ids.end(), end_), 2);
}

// Case B025.
TEST_F(GptBuildTest, WarnsOfOneDocumentPerFile) {
  use_corpus("가\n나\n");
  EXPECT_TRUE(warns(must_build(), "each file counts as one document"));
  options_.overwrite = true;
  use_corpus("가\n\n나\n");
  EXPECT_FALSE(warns(must_build(), "each file counts as one document"));
}

TEST_F(GptBuildTest, DoesNotDependOnThreads) {
  use_many_files();
  expect_same_on_all_threads(true);
}

TEST_F(GptBuildTest, TheManifestTellsTaskTokenizerAndItsOptions) {
  const auto summary = must_build();
  const Json manifest = *parse_json(files_in("out").at("manifest.json"), "manifest");
  EXPECT_EQ(manifest["headwater_records"], "gpt");
  EXPECT_EQ(manifest["vocabulary"]["sha256"], open_tokenizer().digest());
  EXPECT_EQ(manifest["vocabulary"]["size"], open_tokenizer().size());
  EXPECT_EQ(manifest["options"]["last_block"], "keep");
  EXPECT_FALSE(manifest["options"].contains("masking"));
  EXPECT_FALSE(manifest["options"].contains("split_long_lines"));
  EXPECT_EQ(manifest["counts"]["special_tokens"], summary.counts.documents);
  EXPECT_FALSE(manifest["counts"].contains("sentences"));
}

TEST_F(GptBuildTest, NoTextIsAnError) {
  use_corpus("\n \n\t\n");
  EXPECT_NE(error().find("no examples: 1 files with 3 lines hold no text"), std::string::npos);
  EXPECT_FALSE(fs_.exists("out"));
}

// Whatever the documents and the length: the blocks are the joined text.
RC_GTEST_FIXTURE_PROP(GptBuildTest, BlocksAreTheJoinedText, ()) {
  const auto words = *rc::gen::container<std::vector<std::vector<std::string>>>(
      rc::gen::container<std::vector<std::string>>(
          rc::gen::element<std::string>("가", " 나다", "x  y", "끝.", "12")));
  std::vector<std::string> documents;
  std::string corpus;
  for (const auto& lines : words) {
    if (lines.empty()) continue;
    documents.push_back(fmt::format("{}", fmt::join(lines, "\n")));
    corpus += documents.back() + "\n\n";
  }
  RC_PRE(!documents.empty());
  use_corpus(corpus);
  options_.max_seq_length = *rc::gen::inRange<int64_t>(5, 40);
  options_.overwrite = true;
  const auto summary = build();
  RC_ASSERT(summary.has_value());
  RC_ASSERT(input_ids(*summary) ==
            blocks_of(documents, static_cast<size_t>(options_.max_seq_length)));
}

}  // namespace
}  // namespace headwater
