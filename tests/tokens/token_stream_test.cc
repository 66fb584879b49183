#include "tokens/token_stream.h"

#include <gtest/gtest.h>

#include <random>

#include "base/threads.h"
#include "io/fault_files.h"
#include "io/memory_files.h"
#include "text/utf8.h"
#include "tokens/fixtures.h"
#include "tokens/mini_vocabulary.h"

namespace headwater {
namespace {

struct Outcome {
  Result<TokenStreamCounts> counts;
  std::string out;
};

Outcome run(const std::string& text, TokenStreamOptions options = {},
            const TokenizerOptions& tokenizer = {}) {
  MemoryFileSystem fs;
  fs.put("in", text);
  options.name = "in.txt";
  auto source = fs.open_read("in");
  auto sink = fs.open_write("out");
  auto counts =
      tokenize_stream(**source, **sink, must_create(mini_vocabulary(), tokenizer), options);
  EXPECT_TRUE((*sink)->close());
  return {std::move(counts), fs.files().at("out")};
}

TEST(TokenStream, OneLineInOneLineOut) {
  EXPECT_EQ(run("one two\n\ntwo\n", {.format = TokenFormat::kTokens}).out, "one two\n\ntwo\n");
  EXPECT_EQ(run("one\r\ntwo", {.format = TokenFormat::kTokens}).out, "one\ntwo\n");
  EXPECT_EQ(run("").out, "");
  EXPECT_EQ(run("\n").out, "\n");
  EXPECT_EQ(run("one\n", {.format = TokenFormat::kTokens, .add_special_tokens = true}).out,
            "[CLS] one [SEP]\n");
  EXPECT_EQ(run("!\"\n").out, "5 6\n");
}

TEST(TokenStream, JsonHasByteOffsets) {
  const auto outcome =
      run("안녕하세요 \"\n", {.format = TokenFormat::kJson, .add_special_tokens = true});
  const auto json = parse_json(outcome.out, "line");
  ASSERT_TRUE(json) << outcome.out;
  EXPECT_EQ(dump_json((*json)["tokens"]), R"(["[CLS]","안녕","##하세요","\"","[SEP]"])");
  EXPECT_EQ(dump_json((*json)["offsets"]), "[[0,0],[0,6],[6,15],[16,17],[0,0]]");
  EXPECT_EQ((*json)["ids"].size(), 5u);
}

// Whatever the blocks and the threads, the output is the same.
TEST(TokenStream, BlocksAndThreadsDoNotShow) {
  std::mt19937 rng(1);
  std::string text;
  for (int i = 0; i < 6000; ++i) {
    for (uint32_t n = rng() % 6; n > 0; --n) text += rng() % 2 ? "안녕하세요 " : "one ";
    text += '\n';
  }
  text += "one";  // without a line end
  const std::string expected = run(text).out;
  EXPECT_EQ(std::count(expected.begin(), expected.end(), '\n'), 6001);
  for (const int threads : {1, 3}) {
    set_num_threads(threads);
    for (const int64_t block : {1, 7, 1000, 1 << 20})
      EXPECT_EQ(run(text, {.block_bytes = block}).out, expected) << block;
  }
  set_num_threads(0);
}

// Case B008: file, line and byte offset, by either policy.
TEST(TokenStream, InvalidUtf8) {
  const std::string text = "ok line\n\xED\xA0\xBD pair\n\xFF stray\n";
  for (const int64_t block : {1, 1 << 20}) {
    const auto stopped = run(text, {.block_bytes = block});
    ASSERT_FALSE(stopped.counts);
    EXPECT_EQ(stopped.counts.error().code, Code::kInvalidArgument);
    EXPECT_EQ(stopped.counts.error().message,
              "in.txt, line 2: invalid UTF-8 at byte 8 of the file");
    const auto replaced = run(text, {.replace_invalid = true, .block_bytes = block});
    ASSERT_TRUE(replaced.counts);
    EXPECT_EQ(replaced.counts->replaced_lines, 2);
    EXPECT_EQ(replaced.counts->first_replaced, "in.txt, line 2, byte 8");
    EXPECT_EQ(std::count(replaced.out.begin(), replaced.out.end(), '\n'), 3);
  }
}

TEST(TokenStream, FailuresOfSourceAndSinkComeThrough) {
  MemoryFileSystem memory;
  memory.put("in", "one two\n");
  FaultFileSystem fs(memory);
  fs.fail_read_at(1);
  const Tokenizer tokenizer = must_create(mini_vocabulary());
  {
    auto source = fs.open_read("in");
    auto sink = memory.open_write("out");
    EXPECT_FALSE(tokenize_stream(**source, **sink, tokenizer, {}));
  }
  fs.reset();
  fs.fail_at(2);
  auto source = memory.open_read("in");
  auto sink = fs.open_write("out");
  EXPECT_FALSE(tokenize_stream(**source, **sink, tokenizer, {}));
}

TEST(TokenStream, SpecialTokensMustExist) {
  MemoryFileSystem fs;
  fs.put("in", "a\n");
  auto source = fs.open_read("in");
  auto sink = fs.open_write("out");
  const Tokenizer tokenizer = must_create(*Vocabulary::from_tokens({"[UNK]", "a"}, "v"));
  EXPECT_FALSE(tokenize_stream(**source, **sink, tokenizer, {.add_special_tokens = true}));
}

// ---- the report ----

std::string warnings_of(const std::string& text, const TokenizerOptions& tokenizer = {}) {
  const auto outcome = run(text, {}, tokenizer);
  std::string out;
  for (const std::string& line :
       outcome.counts->report.warnings(must_create(mini_vocabulary(), tokenizer)))
    out += line + "\n";
  return out;
}

TEST(UnknownReport, NamesTheCause) {
  EXPECT_EQ(warnings_of("안녕하세요 오늘 기분\n"), "");
  const std::string lower = warnings_of("안녕하세요 오늘\n", {.do_lower_case = true});
  EXPECT_NE(lower.find("100.0 % of 2 tokens are [UNK]"), std::string::npos) << lower;
  EXPECT_NE(lower.find("takes Hangul syllables apart"), std::string::npos) << lower;
  EXPECT_NE(lower.find("'안녕하세요'"), std::string::npos) << lower;

  const std::string decomposed = warnings_of("\u110b\u1169\u1102\u1173\u11af one\n");
  EXPECT_NE(decomposed.find("use --normalize nfc"), std::string::npos) << decomposed;
  EXPECT_NE(decomposed.find("1 of 1 lines are not in Unicode normal form C"), std::string::npos);
  EXPECT_EQ(warnings_of("\u110b\u1169\u1102\u1173\u11af one\n", {.normalize = "nfc"}), "");

  const std::string composed = warnings_of("\u1107\u116e\u11af one\n", {.normalize = "nfc"});
  EXPECT_NE(composed.find("does not hold"), std::string::npos) << composed;

  EXPECT_NE(warnings_of("기분👍\n").find("--isolate-emoji"), std::string::npos);
  EXPECT_NE(warnings_of("뷁뷁\n").find("is it the vocabulary for this text?"), std::string::npos);
  EXPECT_NE(warnings_of(std::string(300, 'a') + "\n").find("--max-word-chars"), std::string::npos);
}

// One unknown word in a hundred is usual.
TEST(UnknownReport, QuietBelowTheAlarmRate) {
  std::string text = "뷁";
  for (int i = 0; i < 60; ++i) text += " one";
  EXPECT_EQ(warnings_of(text + "\n"), "");
}

// Case B007: how many [UNK] isolating emoji saved.
TEST(UnknownReport, SavedByEmoji) {
  const auto outcome = run("오늘👍오늘 glad😊\n오늘👍\n", {}, {.isolate_emoji = true});
  ASSERT_TRUE(outcome.counts);
  EXPECT_EQ(outcome.counts->saved_by_emoji, 2);
  EXPECT_EQ(outcome.counts->report.unknown(), 0);
}

}  // namespace
}  // namespace headwater
