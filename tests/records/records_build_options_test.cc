// Options of `records build`: what a task has, its defaults; the manifest as others read it.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "records/build_fixture.h"
#include "records/record_files.h"
#include "records/records_manifest.h"

namespace headwater {
namespace {

using Given = std::vector<std::pair<std::string, std::string>>;

Result<RecordsBuildOptions> resolved(const Given& given) {
  RecordsBuildOptions options;
  Fields fields;
  options.describe(fields);
  for (const auto& [name, value] : given)
    HW_RETURN_IF_ERROR(fields.set_text(name, value, "--" + name));
  HW_RETURN_IF_ERROR(options.resolve(fields));
  return options;
}
std::string refusal(const Given& given) {
  const auto options = resolved(given);
  return options ? "" : options.error().to_string();
}

TEST(RecordsBuildOptions, DefaultsOfTheTask) {
  EXPECT_EQ(resolved({})->max_seq_length, 128);
  EXPECT_EQ(resolved({{"task", "gpt"}})->max_seq_length, 1024);
  EXPECT_EQ(resolved({{"task", "bert"}})->max_seq_length, 128);
  EXPECT_EQ(resolved({{"task", "raw"}})->max_seq_length, 512);
  EXPECT_EQ(resolved({{"task", "gpt"}, {"max-seq-length", "64"}})->max_seq_length, 64);
}

TEST(RecordsBuildOptions, OptionsOfOtherTasksAreRefused) {
  EXPECT_EQ(refusal({{"task", "gpt"}, {"dupe-factor", "3"}}),
            "--dupe-factor is an option of --task bert, not of gpt");
  EXPECT_EQ(refusal({{"end-of-text", "x"}}),
            "--end-of-text is an option of --task gpt, not of electra");
  EXPECT_EQ(refusal({{"task", "raw"}, {"split-long-lines", "true"}}),
            "--split-long-lines is an option of --task electra and bert, not of raw");
  EXPECT_EQ(refusal({{"task", "bert"}, {"dupe-factor", "3"}}), "");
}

TEST(RecordsBuildOptions, OptionsThatExcludeEachOther) {
  EXPECT_NE(refusal({{"task", "bert"}, {"whole-word-masking", "true"}}).find("--masking static"),
            std::string::npos);
  EXPECT_EQ(refusal({{"task", "bert"}, {"masking", "static"}, {"do_whole_word_mask", "true"}}), "");
  EXPECT_NE(refusal({{"task", "bert"}, {"pairs", "false"}, {"sentence-order", "true"}})
                .find("--no-pairs makes none"),
            std::string::npos);
  EXPECT_NE(refusal({{"task", "bert"}, {"pairs", "false"}, {"short-seq-prob", "0.1"}})
                .find("--short-seq-prob is about pairs"),
            std::string::npos);
  EXPECT_NE(refusal({{"task", "gpt"}, {"one-document-per-example", "1"}, {"last-block", "drop"}})
                .find("joins none"),
            std::string::npos);
}

TEST(RecordsBuildOptions, EveryTaskOptionIsAField) {
  RecordsBuildOptions options;
  Fields fields;
  options.describe(fields);
  for (const auto task : {RecordsTask::kElectra, RecordsTask::kRaw})
    for (const std::string_view name : options_without_say(task))
      EXPECT_NE(fields.find(name), nullptr) << name;
}

class RecordsBuildTest : public BuildTest {};

TEST_F(RecordsBuildTest, UnknownTask) {
  options_.task = "t5";
  EXPECT_NE(error().find("task must be one of electra, gpt, bert, raw"), std::string::npos);
}

TEST_F(RecordsBuildTest, LengthsWithoutRoom) {
  options_.max_seq_length = 4;
  EXPECT_NE(error().find("max_seq_length must be 5 to 65536"), std::string::npos);
}

TEST_F(RecordsBuildTest, ElectraNeedsWordPiece) {
  options_.vocab_file = "bpe";
  EXPECT_NE(error().find("is a byte-level BPE vocabulary; ELECTRA's examples need a WordPiece"),
            std::string::npos);
}

// The same vocabulary in a folder with Hugging Face's configuration, whose case rule counts.
TEST_F(RecordsBuildTest, TheTokenizersFilesDecideOnCase) {
  fs_.put("hf/vocab.txt", golden("vocab.txt"));
  fs_.put("hf/tokenizer_config.json", R"({"do_lower_case": true})");
  options_.vocab_file = "hf";
  auto summary = must_build();
  EXPECT_TRUE(summary.notes.empty());
  EXPECT_TRUE(warns(summary, "takes Hangul syllables apart"));
  options_.overwrite = true;
  options_.lower_case_by_vocabulary = false;  // --no-lower-case
  EXPECT_FALSE(warns(must_build(), "takes Hangul syllables apart"));
}

class ManifestTest : public BuildTest {
 protected:
  RecordsManifest manifest() {
    const auto read = RecordsManifest::read(fs_, "out");
    EXPECT_TRUE(read.has_value() && read->has_value());
    return **read;
  }
};

TEST_F(ManifestTest, TellsHowTheRecordsWereMade) {
  options_.task = "bert";
  options_.tokenizer.max_jamo_run = 3;
  options_.bert.pad = false;
  must_build();
  const RecordsManifest found = manifest();
  EXPECT_EQ(found.path, "out/manifest.json");
  EXPECT_EQ(found.task, "bert");
  EXPECT_EQ(found.vocabulary, "vocab.txt");
  EXPECT_EQ(found.vocab_size, 401);
  EXPECT_EQ(found.tokenizer.max_jamo_run, 3);
  EXPECT_FALSE(found.padded);
  EXPECT_TRUE(found.check_vocabulary("vocab.txt", open_tokenizer().digest()).has_value());
  const auto other = found.check_vocabulary("v", std::string(64, '0'));
  ASSERT_FALSE(other.has_value());
  EXPECT_NE(other.error().message.find("v is not the vocabulary that out/manifest.json names"),
            std::string::npos);
}

TEST_F(ManifestTest, OpensItsTokenizer) {
  must_build();
  EXPECT_TRUE(manifest().padded);
  EXPECT_EQ(manifest().open_tokenizer(fs_)->digest(), open_tokenizer().digest());
  fs_.put("vocab.txt", golden("vocab.txt") + "new\n");
  EXPECT_EQ(manifest().open_tokenizer(fs_).error().code, Code::kFailedPrecondition);
  ASSERT_TRUE(fs_.remove("vocab.txt").has_value());
  EXPECT_EQ(manifest().open_tokenizer(fs_).error().code, Code::kNotFound);
}

TEST_F(ManifestTest, OnePerFolder) {
  must_build();
  options_.output_dir = "out2";
  options_.task = "raw";
  must_build();
  const auto files = *list_record_files(fs_, std::vector<std::string>{"out", "out2"});
  const auto manifests = *RecordsManifest::beside(fs_, files);
  ASSERT_EQ(manifests.size(), 2u);
  EXPECT_EQ(manifests[0].task, "electra");
  EXPECT_EQ(manifests[1].task, "raw");
}

TEST_F(ManifestTest, ThatOfSomebodyElseIsNone) {
  EXPECT_FALSE(RecordsManifest::read(fs_, "corpus")->has_value());
  fs_.put("out/manifest.json", "{\"name\": \"web app\"}");
  EXPECT_FALSE(RecordsManifest::read(fs_, "out")->has_value());
  fs_.put("out/manifest.json", "{\"name\":");
  EXPECT_FALSE(RecordsManifest::read(fs_, "out").has_value());
}

// What is read of a manifest may be anything: an error, never more.
TEST_F(ManifestTest, ChangedManifestsAreErrorsOrRead) {
  must_build();
  const std::string good = files_in("out").at("manifest.json");
  const Json json = *parse_json(good, "manifest");
  for (const char* key : {"vocabulary", "options"}) {
    Json changed = json;
    changed.erase(key);
    fs_.put("out/manifest.json", dump_json(changed));
    const auto read = RecordsManifest::read(fs_, "out");
    ASSERT_FALSE(read.has_value()) << key;
    EXPECT_NE(read.error().message.find("is not a manifest"), std::string::npos);
  }
  RandomStream random(Key::from_seed(7));
  for (int i = 0; i < 2000; ++i) {
    std::string text = good;
    for (int change = 0; change < 3; ++change)
      text[random.below(text.size())] = static_cast<char>(32 + random.below(95));
    fs_.put("out/manifest.json", text);
    (void)RecordsManifest::read(fs_, "out").has_value();
  }
}

}  // namespace
}  // namespace headwater
