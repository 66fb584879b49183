// Verification and statistics over sets of files.
#include "records/record_verify.h"

#include <gtest/gtest.h>

#include "golden.h"
#include "io/fault_files.h"
#include "io/memory_files.h"
#include "records/example.h"
#include "records/record_stats.h"

namespace headwater {
namespace {

struct Written {
  std::string bytes;
  int64_t records;
  uint32_t checksum;
};

Written write_records(const std::vector<std::string>& payloads) {
  MemoryFileSystem fs;
  auto sink = *fs.open_write("f");
  RecordWriter writer(*sink);
  for (const std::string& payload : payloads) EXPECT_TRUE(writer.write(payload));
  return {fs.files().at("f"), writer.records(), writer.checksum()};
}

VerifyReport verify(FileSystem& fs, const std::vector<std::string>& paths,
                    RecordReaderOptions options = {}) {
  const auto files = list_record_files(fs, paths);
  EXPECT_TRUE(files) << files.error().to_string();
  return files ? verify_records(fs, *files, options) : VerifyReport();
}

TEST(RecordFiles, FoldersPatternsAndFiles) {
  MemoryFileSystem fs;
  for (const char* path : {"d/a.tfrecord-0-of-2", "d/a.tfrecord-1-of-2", "d/manifest.json",
                           "d/tfrecord_notes.txt", "d/.a.tfrecord.tmp-1-1", "e/other"})
    fs.put(path, "");
  const auto names = [&](const std::vector<std::string>& paths) {
    std::vector<std::string> list;
    const auto files = list_record_files(fs, paths);
    if (!files) return std::vector<std::string>{files.error().message};
    for (const FileInfo& file : *files) list.push_back(file.path);
    return list;
  };
  using List = std::vector<std::string>;
  EXPECT_EQ(names({"d"}), (List{"d/a.tfrecord-0-of-2", "d/a.tfrecord-1-of-2"}));
  EXPECT_EQ(names({"d/*-of-2", "d", "e/other"}),
            (List{"d/a.tfrecord-0-of-2", "d/a.tfrecord-1-of-2", "e/other"}));
  // `records build` leaves a manifest beside its shards; somebody may still look at it by name.
  EXPECT_EQ(names({"d/*"}),
            (List{"d/a.tfrecord-0-of-2", "d/a.tfrecord-1-of-2", "d/tfrecord_notes.txt"}));
  EXPECT_EQ(names({"d/manifest.json"}), (List{"d/manifest.json"}));
  EXPECT_EQ(names({"e"}), (List{"no file named *.tfrecord* in directory e"}));
  EXPECT_EQ(names({"d", "f"}), (List{"no file matches f"}));
}

TEST(Verify, ListsAllDamageOfAllGoldenFiles) {
  const VerifyReport report =
      verify(local_files(),
             {golden_path("*.tfrecord"), golden_path("cases/tfr_truncated_payload.tfrecord"),
              golden_path("cases/tfr_bad_data_crc.tfrecord")});
  std::map<std::string, std::string> found;
  for (const FileCheck& check : report.files) {
    EXPECT_EQ(check.good(), check.listed.empty());
    for (const FoundDamage& f : check.listed)
      found[base_name(check.file.path)] +=
          fmt::format("{} {} {} {};", damage_name(f.damage.kind), f.damage.record,
                      f.damage.byte_offset, f.damage.missing_bytes);
  }
  const std::map<std::string, std::string> expected = {
      {"bad_data_crc.tfrecord", "payload checksum 2 33 0;"},
      {"bad_length_crc.tfrecord", "length checksum 2 33 0;"},
      {"bad_payload_byte.tfrecord", "payload checksum 2 33 0;"},
      {"gzip_truncated.tfrecord", "compressed data 5 1342 0;"},
      {"tfr_bad_data_crc.tfrecord", "payload checksum 2 350 0;"},
      {"tfr_truncated_payload.tfrecord", "truncated payload 4 700 40;"},
      {"trailing_zeros.tfrecord", "length checksum 6 1367 0;"},
      {"trunc_in_footer.tfrecord", "truncated payload 3 54 2;"},
      {"trunc_in_header.tfrecord", "truncated header 3 54 7;"},
      {"trunc_in_payload.tfrecord", "truncated payload 3 54 160;"}};
  EXPECT_EQ(found, expected);
  EXPECT_EQ(report.bad_files(), 10);
  EXPECT_FALSE(report.good());
  EXPECT_EQ(describe_damage(report).size(), 10u);
  EXPECT_TRUE(
      verify(local_files(), {golden_path("trunc_in_header.tfrecord")}, {.tf_compatible = true})
          .good());
}

TEST(Verify, SeveralDamagesInOneFile) {
  MemoryFileSystem fs;
  std::string bytes = write_records({"one", "two", "three", "four", "five"}).bytes;
  bytes[12] ^= 1;                  // payload of record 0
  bytes[19 + 19 + 3] ^= 1;         // length of record 2
  bytes.resize(bytes.size() - 1);  // end of record 4
  fs.put("f", bytes);
  const VerifyReport report = verify(fs, {"f"});
  EXPECT_EQ(report.records(), 2);
  EXPECT_EQ(report.damages(), 3);
  EXPECT_EQ(describe_damage(report),
            (std::vector<std::string>{
                "f: record 0 (counted from 0) at byte 0: its payload of 3 bytes does not match its "
                "checksum",
                "f: record 2 (counted from 0) at byte 38: its length does not match its checksum",
                "f: record 4 (counted from 0) at byte 79: the file ends inside its payload, 1 of 8 "
                "bytes are missing"}));
  const Json json = to_json(report);
  EXPECT_EQ(json["good"], false);
  EXPECT_EQ(json["list"][0]["damaged_records"][2]["missing_bytes"], 1);
}

TEST(Verify, TheManifestSeesWhatChecksumsCannot) {
  MemoryFileSystem fs;
  const Written a = write_records({"first", "second"}), b = write_records({"third", "fourth"});
  const auto entry = [](const char* name, const Written& w) {
    return Json{{"name", name},
                {"records", w.records},
                {"bytes", w.bytes.size()},
                {"checksum", fmt::format("{:08x}", w.checksum)}};
  };
  const Json manifest = {{"headwater_records", "electra"},
                         {"shards", {entry("s.tfrecord-0", a), entry("s.tfrecord-1", b)}}};
  fs.put("d/manifest.json", dump_json(manifest));
  fs.put("d/s.tfrecord-0", a.bytes);
  fs.put("d/s.tfrecord-1", b.bytes);
  EXPECT_TRUE(verify(fs, {"d"}).good());
  EXPECT_EQ(verify(fs, {"d"}).manifests, 1);

  const auto lines = [&] { return describe_damage(verify(fs, {"d"})); };
  using Lines = std::vector<std::string>;
  fs.put("d/s.tfrecord-1", b.bytes.substr(0, 21));  // cut between two records
  EXPECT_EQ(lines(), (Lines{"d/s.tfrecord-1: it has 1 records where the manifest says 2"}));
  fs.put("d/s.tfrecord-1", write_records({"fourth", "third"}).bytes);
  EXPECT_EQ(lines(), (Lines{"d/s.tfrecord-1: its records are not those of the manifest (checksums "
                            "differ)"}));
  ASSERT_TRUE(fs.remove("d/s.tfrecord-1"));
  EXPECT_EQ(lines(), (Lines{"d/s.tfrecord-1: missing, but named in the manifest"}));
  fs.put("d/s.tfrecord-1", b.bytes);
  for (const char* odd :
       {"", "{", "[]", "{\"headwater_records\":1,\"shards\":7}",
        "{\"headwater_records\":1,\"shards\":[1,{\"name\":2},{\"name\":\"x\"}]}"}) {
    fs.put("d/manifest.json", odd);
    (void)verify(fs, {"d"});  // no crash; a name without facts can only be missing
  }
}

TEST(Verify, AFailingDiskIsReportedPerFile) {
  MemoryFileSystem memory;
  memory.put("a", write_records({"x"}).bytes);
  memory.put("b", write_records({"y"}).bytes);
  FaultFileSystem fs(memory);
  fs.fail_read_at(1);
  const VerifyReport report = verify(fs, {"a,b"});
  EXPECT_EQ(report.bad_files(), 1);
  ASSERT_EQ(describe_damage(report).size(), 1u);
  EXPECT_NE(describe_damage(report)[0].find("cannot read"), std::string::npos);
}

Result<RecordStats> stats_of(FileSystem& fs, const std::vector<std::string>& paths,
                             const std::optional<Vocabulary>& vocabulary = {},
                             RecordReaderOptions options = {}) {
  std::optional<AnyTokenizer> tokenizer;
  if (vocabulary) {
    HW_ASSIGN_OR_RETURN(Tokenizer made, Tokenizer::create(*vocabulary, {}));
    tokenizer.emplace(std::move(made));
  }
  return gather_stats(fs, *list_record_files(fs, paths),
                      {.reader = options, .tokenizer = tokenizer ? &*tokenizer : nullptr});
}

TEST(Stats, PretrainingShards) {
  const auto stats = stats_of(local_files(), {golden_path("pretrain_data.tfrecord-*")});
  ASSERT_TRUE(stats);
  EXPECT_EQ(stats->files, 2);
  EXPECT_EQ(stats->records, 10);
  EXPECT_EQ(stats->examples, 10);
  EXPECT_EQ(stats->positions, 160);
  EXPECT_EQ(stats->tokens, 87);
  EXPECT_EQ(stats->two_segments, 0);
  EXPECT_EQ(stats->features.size(), 3u);
  EXPECT_EQ(stats->sequence_lengths.at(16).examples, 10);
  int64_t examples = 0;
  for (const auto& bin : histogram(stats->token_counts, 4).bins) examples += bin.examples;
  EXPECT_EQ(examples, 10);
  EXPECT_EQ(to_json(*stats, false)["features"]["input_ids"]["longest"], 16);
}

TEST(Stats, UnknownTokensAndForeignIds) {
  MemoryFileSystem fs;
  const auto ints = [](std::vector<int64_t> v) { return FeatureValues(std::move(v)); };
  fs.put("f",
         write_records({serialize_example({{"input_ids", ints({2, 1, 5, 9, 3, 4, 3, 0, 0})},
                                           {"input_mask", ints({1, 1, 1, 1, 1, 1, 1, 0, 0})},
                                           {"segment_ids", ints({0, 0, 0, 0, 0, 1, 1, 0, 0})}}),
                        serialize_example({{"input_ids", ints({2, 1, 3, 0, 0})}}),
                        "\xff not an example"})
             .bytes);
  const auto vocabulary =
      Vocabulary::from_tokens({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a"}, "small");
  const auto stats = stats_of(fs, {"f"}, *vocabulary);
  ASSERT_TRUE(stats) << stats.error().to_string();
  EXPECT_EQ(stats->records, 3);
  EXPECT_EQ(stats->not_examples, 1);
  EXPECT_EQ(stats->examples, 2);
  EXPECT_EQ(stats->tokens, 10);
  EXPECT_EQ(stats->two_segments, 1);
  EXPECT_EQ(stats->ordinary, 5);
  EXPECT_EQ(stats->unknown, 2);
  EXPECT_EQ(stats->outside_vocabulary, 1);
  EXPECT_EQ(stats->largest_id, 9);
  EXPECT_EQ(stats->sequence_lengths.size(), 2u);
  EXPECT_EQ(stats->sequence_lengths.at(5).first, "f, record 1 (counted from 0)");
  const auto no_specials = Vocabulary::from_tokens({"a"}, "none");
  EXPECT_FALSE(stats_of(fs, {"f"}, *no_specials));
}

// Hugging Face's names; and records that nothing fills up, where a zero is a token.
TEST(Stats, OtherNamesAndListsWithoutPadding) {
  MemoryFileSystem fs;
  const auto ints = [](std::vector<int64_t> v) { return FeatureValues(std::move(v)); };
  fs.put("f", write_records({serialize_example({{"input_ids", ints({5, 6, 7, 0, 0})},
                                                {"attention_mask", ints({1, 1, 1, 1, 0})},
                                                {"token_type_ids", ints({0, 0, 1, 1, 0})}}),
                             serialize_example({{"input_ids", ints({5, 0})}})})
                  .bytes);
  const auto files = *list_record_files(fs, std::vector<std::string>{"f"});
  const auto stats = gather_stats(fs, files);
  EXPECT_EQ(stats->tokens, 5);
  EXPECT_EQ(stats->two_segments, 1);
  EXPECT_EQ(gather_stats(fs, files, {.zeros_are_padding = false})->tokens, 6);
}

TEST(Stats, DamageFollowsThePolicy) {
  const std::vector<std::string> path = {golden_path("cases/tfr_bad_data_crc.tfrecord")};
  EXPECT_FALSE(stats_of(local_files(), path));
  const auto skip = stats_of(local_files(), path, {}, {.policy = DamagePolicy::kSkip});
  EXPECT_EQ(skip->records, 3);
  EXPECT_EQ(skip->damages, 1);
  const auto empty = stats_of(local_files(), {golden_path("cases/tfr_zero_bytes.tfrecord")});
  EXPECT_EQ(empty->records, 0);
  EXPECT_EQ(empty->empty_files, 1);
  EXPECT_TRUE(histogram(empty->token_counts, 10).bins.empty());
}

TEST(Stats, HistogramCoversEveryCount) {
  std::map<int64_t, int64_t> counts;
  for (int64_t i = 3; i < 131; i += 4) counts[i] = i;
  for (const int64_t bins : {1, 5, 12, 1000}) {
    int64_t examples = 0, expected = 0, last = -1;
    for (const auto& [tokens, n] : counts) expected += n;
    for (const auto& bin : histogram(counts, bins).bins) {
      if (last >= 0) {
        EXPECT_EQ(bin.low, last + 1);
      }
      last = bin.high;
      examples += bin.examples;
    }
    EXPECT_EQ(examples, expected);
    EXPECT_EQ(last, 127);
  }
}

}  // namespace
}  // namespace headwater
