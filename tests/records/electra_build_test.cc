#include "records/records_build.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <nlohmann/json.hpp>

#include "io/fault_files.h"
#include "records/build_fixture.h"
#include "records/build_report.h"
#include "text/white_space.h"

namespace headwater {
namespace {

class ElectraBuildTest : public BuildTest {};

TEST_F(ElectraBuildTest, WritesShardsAndAManifest) {
  const auto summary = must_build();
  const auto files = files_in("out");
  ASSERT_EQ(files.size(), 3u);
  EXPECT_TRUE(files.contains("pretrain_data.tfrecord-0-of-2"));
  EXPECT_TRUE(files.contains("pretrain_data.tfrecord-1-of-2"));
  const Json manifest = *parse_json(files.at("manifest.json"), "manifest");
  EXPECT_EQ(manifest["counts"]["examples"], summary.counts.examples);
  EXPECT_EQ(manifest["counts"]["documents"], 5);
  EXPECT_EQ(manifest["counts"]["lines"], 20);
  EXPECT_EQ(manifest["counts"]["sentences"], 18);
  EXPECT_EQ(manifest["inputs"]["files"], 3);
  EXPECT_EQ(manifest["inputs"]["list"][1]["name"], "part_01.txt");
  EXPECT_EQ(manifest["options"]["max_seq_length"], 32);
  EXPECT_EQ(manifest["vocabulary"]["size"], 401);
  int64_t records = 0;
  for (const Json& shard : manifest["shards"]) {
    const auto name = shard["name"].get<std::string>();
    EXPECT_EQ(shard["bytes"], files.at(name).size());
    const auto payloads = payloads_of(fs_, "out/" + name);
    EXPECT_EQ(shard["records"], payloads.size());
    records += static_cast<int64_t>(payloads.size());
    for (const auto& payload : payloads)
      for (const char* key : {"input_ids", "input_mask", "segment_ids"})
        EXPECT_EQ(feature(payload, key).size(), 32u);
  }
  EXPECT_EQ(records, summary.counts.examples);
  const auto& c = summary.counts;
  EXPECT_EQ(c.tokens, c.kept_tokens + c.lost_tokens);
}

// What one builder over one file makes, record by record over the shards in turn.
TEST_F(ElectraBuildTest, OneFileGivesTheBuildersExamplesInTurn) {
  use_corpus(golden("corpus/part_01.txt") + "\n" + golden("corpus/part_00.txt"));
  options_.num_out_files = 3;
  options_.seed = 11;
  must_build();
  const auto tokenizer =
      *Tokenizer::create(*Vocabulary::load(fs_, "vocab.txt"), TokenizerOptions{});
  const Key key = Key::from_seed(11).fold_in("records build").fold_in("examples").fold_in(0);
  ElectraExampleBuilder builder(32, 2, 3, threefry_draws(key));
  ElectraExample example;
  int64_t made = 0;
  std::map<int64_t, std::vector<std::string>> shards;
  for (int64_t i = 0; i < 3; ++i)
    shards[i] = payloads_of(fs_, fmt::format("out/pretrain_data.tfrecord-{}-of-3", i));
  const auto check = [&](bool complete) {
    if (!complete) return;
    const auto& shard = shards[made % 3];
    ASSERT_LT(static_cast<size_t>(made / 3), shard.size());
    auto ids = feature(shard[static_cast<size_t>(made / 3)], "input_ids");
    ids.resize(example.input_ids.size());
    EXPECT_EQ(std::vector<int32_t>(ids.begin(), ids.end()), example.input_ids) << made;
    ++made;
  };
  auto reader = LineReader::open(fs_, "one/a.txt");
  for (std::string_view line; *reader->next(line);) {
    std::vector<int32_t> ids;
    tokenizer.append_ids(strip_white_space(line), ids);
    check(ids.empty() ? builder.end_document(example) : builder.add_sentence(ids, example));
  }
  check(builder.end_document(example));
  EXPECT_GT(made, 5);
}

TEST_F(ElectraBuildTest, DoesNotDependOnThreads) {
  use_many_files();
  expect_same_on_all_threads(true);
}

TEST_F(ElectraBuildTest, EmptyShardsAreWrittenAndSaidSo) {
  options_.num_out_files = 50;
  const auto summary = must_build();
  EXPECT_EQ(files_in("out").size(), 51u);
  EXPECT_TRUE(warns(summary, "50 shards empty"));
}

// A lane takes no more of a file than its share of a round: memory does not grow with the file.
TEST_F(ElectraBuildTest, ReadsNoMoreThanARoundNeeds) {
  std::string text;
  while (text.size() < size_t{8} << 20) text += golden("corpus/part_02.txt");
  fs_.put("big.txt", text);
  FaultFileSystem counting(fs_);
  const LaneRules rules;
  BuildLane lane(counting, rules, ElectraExamples(128, SpecialIds{}, Key{}),
                 {{0, {"big.txt", static_cast<int64_t>(text.size())}}});
  int64_t reads = 0;
  while (!lane.done()) {
    ASSERT_TRUE(lane.read(4).has_value());
    ASSERT_LE(lane.blocks().size(), 4u);
    for (const TextBlock& block : lane.blocks())
      ASSERT_LE(block.text().size(), TextBlock::kBytes + 1000);
    ASSERT_LE(counting.reads() - reads, 6);  // of 256 kB each
    reads = counting.reads();
  }
}

TEST_F(ElectraBuildTest, AFolderInUseIsAnErrorUnlessOverwrite) {
  fs_.put("out/notes.txt", "mine");
  EXPECT_NE(error().find("output folder out is not empty: it holds notes.txt"), std::string::npos);
  options_.overwrite = true;
  must_build();
  EXPECT_EQ(files_in("out").at("notes.txt"), "mine");
  options_.num_out_files = 1;  // the two shards of before must go
  fs_.put("out/.pretrain_data.tfrecord-7-of-9.tmp-12-3", "left by a killed build");
  must_build();
  auto files = files_in("out");
  EXPECT_EQ(files.size(), 3u);
  EXPECT_EQ(files.at("notes.txt"), "mine");
  EXPECT_TRUE(files.contains("pretrain_data.tfrecord-0-of-1"));
}

TEST_F(ElectraBuildTest, KeepsAManifestOfSomebodyElse) {
  fs_.put("out/manifest.json", "{\"name\": \"web app\"}");
  options_.overwrite = true;
  EXPECT_NE(error().find("out/manifest.json is not the manifest of an earlier build"),
            std::string::npos);
  EXPECT_EQ(files_in("out").size(), 1u);
}

TEST_F(ElectraBuildTest, OutputThatIsAFile) {
  fs_.put("out", "x");
  EXPECT_NE(error().find("out is a file"), std::string::npos);
}

// Case B025.
TEST_F(ElectraBuildTest, WarnsOfOneDocumentPerFile) {
  std::string text;
  for (int i = 0; i < 30; ++i) text += "오늘 기분이 좋았다.\n";
  use_corpus(text);
  const auto summary = must_build();
  EXPECT_EQ(summary.counts.documents, 1);
  EXPECT_EQ(summary.counts.sentences, 30);
  EXPECT_TRUE(warns(summary, "each file counts as one document"));
  use_corpus(text + "\n" + text);
  options_.overwrite = true;
  EXPECT_FALSE(warns(must_build(), "each file counts as one document"));
}

// Case B026: a line of 400 sentences.
TEST_F(ElectraBuildTest, CountsTokensLostOfALongLine) {
  std::string text;
  for (int i = 0; i < 400; ++i) text += i > 0 ? " 기분 좋네요." : "기분 좋네요.";
  use_corpus(text + "\n");
  options_.max_seq_length = 128;
  auto summary = must_build();
  EXPECT_EQ(summary.counts.examples, 1);
  const int64_t all = summary.counts.tokens;
  EXPECT_EQ(summary.counts.lost_tokens, all - 126);
  EXPECT_TRUE(warns(summary, "--split-long-lines"));
  options_.split_long_lines = options_.overwrite = true;
  summary = must_build();
  EXPECT_EQ(summary.counts.tokens, all);
  EXPECT_EQ(summary.counts.sentences, 400);
  EXPECT_EQ(summary.counts.split_lines, 1);
  EXPECT_LT(summary.counts.lost_tokens, all / 15);
}

TEST_F(ElectraBuildTest, SplitsALongLineWithoutSentences) {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += "기분이 ";
  use_corpus(text + "\n");
  options_.split_long_lines = true;
  const auto summary = must_build();
  EXPECT_GT(summary.counts.sentences, 100);
  EXPECT_LT(summary.counts.lost_tokens, summary.counts.tokens / 5);
}

TEST_F(ElectraBuildTest, BlankLinesNeedNotEndDocuments) {
  const auto with = must_build();
  options_.blanks_separate_docs = false;
  options_.output_dir = "out2";
  const auto without = must_build();
  EXPECT_EQ(with.counts.documents, 5);
  EXPECT_EQ(without.counts.documents, 3);
  EXPECT_EQ(with.counts.tokens, without.counts.tokens);
}

TEST_F(ElectraBuildTest, NoExamplesIsAnError) {
  use_corpus("\n \n\t\n");
  EXPECT_NE(error().find("no examples: 1 files with 3 lines hold no text"), std::string::npos);
  EXPECT_TRUE(files_in("out").empty());
  EXPECT_FALSE(fs_.exists("out"));  // it was made by the build
}

TEST_F(ElectraBuildTest, MissingThings) {
  options_.vocab_file = "none.txt";
  EXPECT_NE(error().find("none.txt"), std::string::npos);
  options_.vocab_file = "vocab.txt";
  options_.corpus_dir = "nowhere";
  EXPECT_NE(error().find("nowhere"), std::string::npos);
}

// Case B053: a vocabulary without [SEP] is named with what it lacks, before any work.
TEST_F(ElectraBuildTest, VocabularyWithoutSpecials) {
  fs_.put("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[MASK]\na\n");
  EXPECT_NE(error().find("[SEP]"), std::string::npos);
  EXPECT_FALSE(fs_.exists("out"));
}

// Case B001: lower-casing with accent stripping on Hangul is followed by a warning that says so.
TEST_F(ElectraBuildTest, WarnsOfUnknownTokens) {
  EXPECT_FALSE(warns(must_build(), "are [UNK]"));
  options_.overwrite = true;
  options_.lower_case_by_vocabulary = false;
  options_.tokenizer.do_lower_case = true;
  const auto summary = must_build();
  EXPECT_TRUE(warns(summary, "tokens are [UNK]"));
  EXPECT_TRUE(warns(summary, "lower-casing with accent stripping takes Hangul syllables apart"));
}

// Case B002: decomposed text, as from macOS, is counted; with the option it gives the NFC ids.
TEST_F(ElectraBuildTest, DecomposedText) {
  use_corpus("\u1100\u1161\n");
  auto summary = must_build();
  EXPECT_EQ(summary.unknown.denormal_lines(), 1);
  EXPECT_TRUE(warns(summary, "--normalize nfc"));
  options_.overwrite = true;
  options_.tokenizer.normalize = "nfc";
  summary = must_build();
  EXPECT_FALSE(warns(summary, "--normalize nfc"));
  const auto decomposed = payloads_of(fs_, "out/pretrain_data.tfrecord-0-of-2");
  use_corpus("가\n");
  must_build();
  EXPECT_EQ(payloads_of(fs_, "out/pretrain_data.tfrecord-0-of-2"), decomposed);
}

TEST_F(ElectraBuildTest, CaseFollowsTheVocabularyUnlessGiven) {
  EXPECT_FALSE(vocabulary_wants_lower_case(*Vocabulary::load(fs_, "vocab.txt")));
  const std::vector<std::string> specials = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
  auto with = [&](std::string token) {
    auto tokens = specials;
    tokens.push_back(std::move(token));
    return vocabulary_wants_lower_case(*Vocabulary::from_tokens(tokens, "v"));
  };
  EXPECT_TRUE(with("house"));
  EXPECT_TRUE(with("[unused1]"));
  EXPECT_FALSE(with("House"));
  EXPECT_FALSE(with("##가"));
}

TEST_F(ElectraBuildTest, InvalidUtf8ByPolicy) {
  use_corpus("기분이\n좋\xFF네요\n");
  EXPECT_NE(error().find("one/a.txt: line 2: invalid UTF-8 at byte 13"), std::string::npos);
  options_.corpus.invalid_utf8 = "replace";
  const auto summary = must_build();
  EXPECT_EQ(summary.counts.replaced_lines, 1);
  EXPECT_TRUE(warns(summary, "one/a.txt: line 2, byte 13"));
}

TEST_F(ElectraBuildTest, JsonRecordsAreDocuments) {
  use_corpus("{\"text\": \"기분이 좋다.\\n오늘.\"}\n{\"text\": \"내일.\"}\n", "a.jsonl");
  const auto summary = must_build();
  EXPECT_EQ(summary.counts.documents, 2);
  EXPECT_EQ(summary.counts.sentences, 3);
  EXPECT_EQ(summary.counts.examples, 2);
}

TEST_F(ElectraBuildTest, AStopLeavesNothing) {
  auto summary = build_records(fs_, options_, [] { return true; });
  ASSERT_FALSE(summary.has_value());
  EXPECT_EQ(summary.error().code, Code::kCancelled);
  EXPECT_FALSE(fs_.exists("out"));
}

TEST_F(ElectraBuildTest, OptionsByTheNamesOfTheOriginal) {
  Fields fields;
  options_.describe(fields);
  for (const char* name :
       {"corpus-dir", "vocab-file", "output-dir", "max-seq-length", "num-processes",
        "blanks-separate-docs", "do-lower-case", "strip-accents", "do-strip-accents",
        "num-out-files", "seed", "invalid-utf8", "text-field", "normalize", "split-long-lines",
        "overwrite"})
    EXPECT_NE(fields.find(name), nullptr) << name;
  EXPECT_EQ(fields.find("do_lower_case")->negation, "no_lower_case");
  EXPECT_EQ(fields.find("strip_accents")->negation, "no_strip_accents");
  ASSERT_TRUE(options_.resolve(fields).has_value());
  EXPECT_TRUE(options_.lower_case_by_vocabulary);
  ASSERT_TRUE(fields.set_text("do_lower_case", "false", "--no-lower-case").has_value());
  ASSERT_TRUE(options_.resolve(fields).has_value());
  EXPECT_FALSE(options_.lower_case_by_vocabulary);
}

// Every write, sync and rename fails once, the disk fills up, the process dies: whatever stands
// under a final name is whole, and a manifest stands only beside a whole set.
class ElectraBuildFaults : public ElectraBuildTest, public testing::WithParamInterface<bool> {
 protected:
  using Files = std::map<std::string, std::string>;

  // Two good builds with the same file names; the second is what the faulty ones attempt.
  void SetUp() override {
    ElectraBuildTest::SetUp();
    must_build();
    old_ = files_in("out");
    options_.seed = 5;
    options_.output_dir = "fresh";
    must_build();
    new_ = files_in("fresh");
    options_.output_dir = "target";
    options_.overwrite = GetParam();
  }
  void reset_target() {
    for (const auto& [name, content] : files_in("target"))
      ASSERT_TRUE(fs_.remove("target/" + name).has_value());
    (void)fs_.remove("target");
    if (!GetParam()) return;
    for (const auto& [name, content] : old_) fs_.put("target/" + name, content);
  }
  void check_target(bool crashed) {
    const Files files = files_in("target");
    int old_shards = 0, new_shards = 0;
    for (const auto& [name, content] : files) {
      if (name.starts_with(".")) {
        EXPECT_TRUE(crashed) << "left behind: " << name;
      } else if (name != "manifest.json") {
        const bool is_new = content == new_.at(name), is_old = content == old_.at(name);
        EXPECT_TRUE(is_new || (GetParam() && is_old)) << name << " is not whole";
        new_shards += is_new, old_shards += is_old;
      }
    }
    EXPECT_TRUE(old_shards == 0 || new_shards == 0) << "old and new shards are mixed";
    if (files.contains("manifest.json")) {
      EXPECT_EQ(old_shards + new_shards, 2);
    }
  }
  template <class Arm>
  void run(Arm arm, bool crashes) {
    reset_target();
    FaultFileSystem faulty(fs_);
    arm(faulty);
    const auto result = build_records(faulty, options_);
    if (crashes) fs_.lose_unsynced();
    check_target(crashes);
    if (result || GetParam() || crashes) return;
    EXPECT_FALSE(fs_.exists("target")) << result.error().to_string();
  }

  Files old_, new_;
};

TEST_P(ElectraBuildFaults, NoHalfShardUnderAFinalName) {
  reset_target();
  FaultFileSystem counting(fs_);
  ASSERT_TRUE(build_records(counting, options_).has_value());
  ASSERT_GT(counting.operations(), 8);
  for (int64_t n = 1; n <= counting.operations(); ++n) {
    SCOPED_TRACE(n);
    run([&](FaultFileSystem& f) { f.fail_at(n); }, false);
    run([&](FaultFileSystem& f) { f.fill_disk_at(n); }, false);
    run([&](FaultFileSystem& f) { f.crash_at(n); }, true);
  }
}
INSTANTIATE_TEST_SUITE_P(FreshAndOverwrite, ElectraBuildFaults, testing::Bool());

TEST_F(ElectraBuildTest, AFullDiskIsOneLine) {
  FaultFileSystem faulty(fs_);
  faulty.fill_disk_at(4);
  const auto result = build_records(faulty, options_);
  ASSERT_FALSE(result.has_value());
  const auto text = result.error().to_string();
  EXPECT_NE(text.find("space"), std::string::npos) << text;
  EXPECT_EQ(text.find('\n'), std::string::npos);
}

TEST_F(ElectraBuildTest, ReadErrorsEndTheBuild) {
  FaultFileSystem faulty(fs_);
  faulty.fail_read_at(4);
  EXPECT_FALSE(build_records(faulty, options_).has_value());
  EXPECT_FALSE(fs_.exists("out"));
}

}  // namespace
}  // namespace headwater
