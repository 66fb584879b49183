// TFRecord framing against TensorFlow's golden files, against damage, and against faults.
#include "records/record_file.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstring>

#include "base/crc32c.h"
#include "base/threefry.h"
#include "golden.h"
#include "io/fault_files.h"
#include "io/memory_files.h"

namespace headwater {
namespace {

struct Outcome {
  std::vector<std::string> payloads;
  std::optional<Error> error;
  std::optional<RecordDamage> damage;
  int64_t skipped = 0;
};

Outcome read_all(FileSystem& fs, const std::string& path, RecordReaderOptions options = {}) {
  Outcome outcome;
  auto reader = RecordReader::open(fs, path, options);
  if (!reader) {
    outcome.error = reader.error();
    return outcome;
  }
  std::string payload;
  while (true) {
    const auto more = reader->next(payload);
    outcome.skipped = reader->damages_skipped();
    if (!more) {
      outcome.error = more.error();
      outcome.damage = reader->damage();
      return outcome;
    }
    if (!*more) return outcome;
    outcome.payloads.push_back(payload);
  }
}

Outcome read_golden(const std::string& name, RecordReaderOptions options = {}) {
  return read_all(local_files(), golden_path(name), options);
}

Outcome read_bytes(std::string bytes, RecordReaderOptions options = {}) {
  MemoryFileSystem fs;
  fs.put("shard", std::move(bytes));
  return read_all(fs, "shard", options);
}

std::string write_records(const std::vector<std::string>& payloads) {
  MemoryFileSystem fs;
  auto sink = *fs.open_write("f");
  RecordWriter writer(*sink);
  for (const std::string& payload : payloads) EXPECT_TRUE(writer.write(payload));
  EXPECT_EQ(writer.records(), static_cast<int64_t>(payloads.size()));
  EXPECT_EQ(writer.bytes(), static_cast<int64_t>(fs.files().at("f").size()));
  return fs.files().at("f");
}

const std::vector<std::string>& golden_payloads() {
  static const std::vector<std::string> payloads = [] {
    std::vector<std::string> list;
    const Json expected = golden_json("tfrecord_expected.json");
    for (const Json& text : expected["_payloads_b64"])
      list.push_back(decode_base64(text.get<std::string>()));
    return list;
  }();
  return payloads;
}

// Every golden file: TensorFlow's number of records and lengths, and an error where TensorFlow has
// one. The one difference is wanted: a cut header is an error here, unless tf_compatible.
TEST(TfRecordGolden, EveryFileAsTensorFlowReadsIt) {
  const Json expected = golden_json("tfrecord_expected.json");
  int files = 0;
  for (const auto& [name, facts] : expected.items()) {
    if (!name.ends_with(".tfrecord") || name == "big70k.tfrecord") continue;
    SCOPED_TRACE(name);
    ++files;
    const Outcome outcome = read_golden(name, {.tf_compatible = true});
    std::vector<int64_t> lengths;
    for (const std::string& payload : outcome.payloads)
      lengths.push_back(static_cast<int64_t>(payload.size()));
    EXPECT_EQ(lengths, facts["lengths"].get<std::vector<int64_t>>());
    EXPECT_EQ(outcome.error.has_value(), !facts["error"].is_null());
    if (!outcome.error) continue;
    EXPECT_EQ(outcome.error->code, Code::kDataLoss);
    EXPECT_EQ(outcome.error->where[0], golden_path(name));
    // TensorFlow's offset is that of the failing part: the payload's for payload checksums.
    const int64_t offset = outcome.damage->byte_offset +
                           (outcome.damage->kind == DamageKind::kPayloadChecksum ? 12 : 0);
    EXPECT_NE(facts["error"].get<std::string>().find(fmt::format("record at {}", offset)),
              std::string::npos)
        << outcome.error->to_string();
  }
  EXPECT_EQ(files, 16);
}

TEST(TfRecordGolden, Contents) {
  for (const char* name : {"plain.tfrecord", "gzip.tfrecord", "zlib.tfrecord"})
    EXPECT_EQ(read_golden(name).payloads, golden_payloads()) << name;
  EXPECT_EQ(write_records(golden_payloads()), golden_bytes("plain.tfrecord"));
}

TEST(TfRecordGolden, ErrorsSayWhatIsDamaged) {
  const auto message = [](const std::string& name) {
    const Outcome outcome = read_golden(name);
    std::string text = outcome.error ? outcome.error->to_string() : "no error";
    const std::string path = golden_path(name) + ": ";
    EXPECT_TRUE(text.starts_with(path)) << text;
    return text.substr(std::min(path.size(), text.size()));
  };
  EXPECT_EQ(message("bad_length_crc.tfrecord"),
            "record 2 (counted from 0) at byte 33: its length does not match its checksum; get or "
            "build the file again");
  EXPECT_EQ(message("bad_data_crc.tfrecord"),
            "record 2 (counted from 0) at byte 33: its payload of 5 bytes does not match its "
            "checksum; get or build the file again");
  EXPECT_EQ(message("trunc_in_header.tfrecord"),
            "record 3 (counted from 0) at byte 54: the file ends inside its header, 7 of 12 bytes "
            "are missing; the file was cut short: get or build it again");
  EXPECT_EQ(message("trunc_in_payload.tfrecord"),
            "record 3 (counted from 0) at byte 54: the file ends inside its payload, 160 of 260 "
            "bytes are missing; the file was cut short: get or build it again");
  EXPECT_EQ(message("gzip_truncated.tfrecord"),
            "record 5 (counted from 0) at byte 1342 unpacked: gzip data ends "
            "early, after 364 compressed bytes; the file was cut short: get it again");
}

TEST(TfRecordGolden, CutHeaderIsDataLossUnlessTfCompatible) {
  const Outcome strict = read_golden("trunc_in_header.tfrecord");
  EXPECT_EQ(strict.payloads.size(), 3u);
  ASSERT_TRUE(strict.damage);
  EXPECT_EQ(strict.damage->kind, DamageKind::kTruncatedHeader);
  EXPECT_EQ(strict.damage->missing_bytes, 7);
  EXPECT_FALSE(read_golden("trunc_in_header.tfrecord", {.tf_compatible = true}).error);
}

TEST(TfRecordCases, OfTheBugReports) {
  EXPECT_EQ(read_golden("cases/tfr_ok.tfrecord").payloads.size(), 5u);
  EXPECT_FALSE(read_golden("cases/tfr_ok.tfrecord").error);
  const Outcome zero = read_golden("cases/tfr_zero_bytes.tfrecord");
  EXPECT_FALSE(zero.error);
  EXPECT_TRUE(zero.payloads.empty());
  EXPECT_FALSE(read_golden("cases/tfr_gzip_named_plain.tfrecord").error);
  EXPECT_FALSE(read_golden("cases/tfr_gzip_named_plain.tfrecord").payloads.empty());
  const Outcome cut = read_golden("cases/tfr_truncated_payload.tfrecord");
  ASSERT_TRUE(cut.damage);
  EXPECT_EQ(cut.damage->kind, DamageKind::kTruncatedPayload);
  EXPECT_EQ(cut.damage->record, 4);
  EXPECT_EQ(cut.damage->missing_bytes, 40);
  const Outcome bad = read_golden("cases/tfr_bad_data_crc.tfrecord");
  ASSERT_TRUE(bad.damage);
  EXPECT_EQ(bad.damage->kind, DamageKind::kPayloadChecksum);
  EXPECT_EQ(bad.damage->record, 2);
}

TEST(DamagePolicies, SkipGoesOnSkipFileLeaves) {
  const std::string bad = "cases/tfr_bad_data_crc.tfrecord";
  const Outcome skip = read_golden(bad, {.policy = DamagePolicy::kSkip});
  EXPECT_FALSE(skip.error);
  EXPECT_EQ(skip.payloads.size(), 3u);
  EXPECT_EQ(skip.skipped, 1);
  const Outcome leave = read_golden(bad, {.policy = DamagePolicy::kSkipFile});
  EXPECT_FALSE(leave.error);
  EXPECT_EQ(leave.payloads.size(), 2u);
  EXPECT_EQ(leave.skipped, 1);
  EXPECT_EQ(*parse_damage_policy("skip-file"), DamagePolicy::kSkipFile);
  EXPECT_FALSE(parse_damage_policy("ignore"));
}

TEST(DamagePolicies, SkipFindsTheNextHeader) {
  const RecordReaderOptions skip{.policy = DamagePolicy::kSkip};
  const std::string file =
      write_records({"first", "second", std::string(300, 'x'), "fourth", "fifth"});
  const auto payloads_of = [&](std::string bytes, int64_t damages) {
    const Outcome outcome = read_bytes(std::move(bytes), skip);
    EXPECT_FALSE(outcome.error);
    EXPECT_EQ(outcome.skipped, damages);
    return outcome.payloads;
  };
  using List = std::vector<std::string>;
  std::string lost_length = file;
  lost_length[21] ^= 1;  // the second record's length
  EXPECT_EQ(payloads_of(lost_length, 1), (List{"first", std::string(300, 'x'), "fourth", "fifth"}));
  std::string lost_bytes = file;  // a hole in the third record's payload
  lost_bytes.erase(60, 100);
  EXPECT_EQ(payloads_of(lost_bytes, 1), (List{"first", "second", "fourth", "fifth"}));
  std::string lost_middle = file;  // the end of the second and the start of the third
  lost_middle.erase(25, 30);
  EXPECT_EQ(payloads_of(lost_middle, 1), (List{"first", "fourth", "fifth"}));
  std::string two = lost_length;
  two[two.size() - 3] ^= 1;
  EXPECT_EQ(payloads_of(two, 2), (List{"first", std::string(300, 'x'), "fourth"}));
  EXPECT_EQ(payloads_of(file.substr(0, file.size() - 5), 1).size(), 4u);
  EXPECT_EQ(payloads_of(file + std::string(100, '\0'), 1).size(), 5u);
  EXPECT_EQ(payloads_of("this is a text file, not records", 1).size(), 0u);
}

TEST(Recover, ListsEveryDamageOfACompressedFileToo) {
  // The gzip file ends early: the damage is told once, then nothing follows.
  auto reader = RecordReader::open(local_files(), golden_path("gzip_truncated.tfrecord"));
  ASSERT_TRUE(reader);
  std::string payload;
  int64_t good = 0;
  while (true) {
    const auto more = reader->next(payload);
    if (!more) break;
    ASSERT_TRUE(*more);
    ++good;
  }
  EXPECT_EQ(good, 5);
  EXPECT_EQ(reader->damage()->kind, DamageKind::kCompression);
  EXPECT_FALSE(*reader->recover());
  EXPECT_FALSE(*reader->next(payload));
}

TEST(RecordReaderTest, LengthsAreBoundedBeforeMemoryIsTaken) {
  // A header whose checksum is right and whose length is huge, and nothing behind it.
  for (const uint64_t length : {uint64_t{1} << 29, uint64_t{1} << 40, ~uint64_t{0}}) {
    std::string header(12, '\0');
    std::memcpy(header.data(), &length, 8);
    const uint32_t crc = mask_crc(crc32c(std::string_view(header).substr(0, 8)));
    std::memcpy(header.data() + 8, &crc, 4);
    const Outcome outcome = read_bytes(header + "abc");
    ASSERT_TRUE(outcome.damage);
    EXPECT_EQ(outcome.damage->kind, length <= uint64_t{kMaxRecordBytes}
                                        ? DamageKind::kTruncatedPayload
                                        : DamageKind::kTooLong);
  }
}

TEST(RecordReaderTest, NotRecordsAtAll) {
  const Outcome outcome = read_bytes("안녕하세요, 이것은 텍스트 파일입니다.\n");
  ASSERT_TRUE(outcome.error);
  EXPECT_EQ(outcome.error->hint, "is this a TFRecord file?");
  EXPECT_EQ(read_all(local_files(), "/no/such/file").error->code, Code::kNotFound);
  EXPECT_EQ(read_all(local_files(), HW_TESTS_DIR).error->message,
            std::string("cannot read ") + HW_TESTS_DIR + ": it is a directory");
  // A damaged first record whose length looks like a zlib header (0x78 0x01) stays TFRecord.
  std::string file = write_records({std::string(0x0178, 'x')});
  file[9] ^= 1;
  EXPECT_EQ(read_bytes(file).damage->kind, DamageKind::kLengthChecksum);
}

TEST(RecordReaderTest, RecordsLongerThanTheBuffer) {
  std::vector<std::string> payloads;
  for (const size_t size : {0, 70000, 1, 300000, 64, 50})
    payloads.push_back(std::string(size, 'r'));
  const std::string file = write_records(payloads);
  for (const size_t buffer : {size_t{1}, size_t{64}, size_t{1000}, size_t{1} << 20})
    EXPECT_EQ(read_bytes(file, {.buffer_bytes = buffer}).payloads, payloads);
}

RC_GTEST_PROP(RecordReaderTest, RoundTrip, (const std::vector<std::string>& payloads)) {
  const Outcome outcome = read_bytes(write_records(payloads));
  RC_ASSERT(!outcome.error);
  RC_ASSERT(outcome.payloads == payloads);
}

TEST(RecordReaderTest, EveryCutKeepsTheRecordsBeforeIt) {
  const std::string file = golden_bytes("plain.tfrecord");
  for (size_t size = 0; size < file.size(); ++size) {
    const Outcome outcome = read_bytes(file.substr(0, size));
    const auto& all = golden_payloads();
    ASSERT_LE(outcome.payloads.size(), all.size());
    EXPECT_TRUE(std::equal(outcome.payloads.begin(), outcome.payloads.end(), all.begin()));
    size_t boundary = 0;
    for (const std::string& payload : outcome.payloads) boundary += payload.size() + 16;
    EXPECT_EQ(outcome.error.has_value(), boundary != size) << size;
    if (!outcome.damage) continue;
    EXPECT_EQ(outcome.damage->byte_offset, static_cast<int64_t>(boundary));
    EXPECT_GT(outcome.damage->missing_bytes, 0);
  }
}

// One bit of any byte: nothing wrong gets through, and skipping never loses more than the record
// hit (two, when a bit of the length is hit: none, for the next header is searched).
TEST(RecordReaderTest, EveryFlippedBitIsSeen) {
  const std::string file = golden_bytes("plain.tfrecord").substr(0, 340);
  const size_t good = read_bytes(file, {.policy = DamagePolicy::kSkip}).payloads.size();
  for (size_t bit = 0; bit < 8 * 326; ++bit) {
    std::string damaged = file;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    ASSERT_TRUE(read_bytes(damaged).error);
    const Outcome skip = read_bytes(damaged, {.policy = DamagePolicy::kSkip});
    ASSERT_FALSE(skip.error);
    ASSERT_EQ(skip.payloads.size(), good - 1) << "bit " << bit;
    for (const std::string& payload : skip.payloads)
      EXPECT_NE(std::find(golden_payloads().begin(), golden_payloads().end(), payload),
                golden_payloads().end());
  }
}

TEST(RecordReaderTest, ReadErrorsAreNotDamage) {
  MemoryFileSystem memory;
  memory.put("f", write_records({std::string(5000, 'x'), std::string(5000, 'y')}));
  for (int64_t nth = 1; nth <= 4; ++nth) {
    FaultFileSystem fs(memory);
    fs.fail_read_at(nth);
    const Outcome outcome =
        read_all(fs, "f", {.policy = DamagePolicy::kSkip, .buffer_bytes = 4096});
    ASSERT_TRUE(outcome.error) << nth;
    EXPECT_FALSE(outcome.damage);
    EXPECT_NE(outcome.error->to_string().find("cannot read f"), std::string::npos);
  }
}

TEST(RecordWriterTest, FaultsAreReturned) {
  MemoryFileSystem memory;
  FaultFileSystem fs(memory);
  auto sink = *fs.open_write("f");
  RecordWriter writer(*sink);
  ASSERT_TRUE(writer.write("one"));
  fs.fill_disk_at(3);
  EXPECT_EQ(writer.write("two").error().code, Code::kResourceExhausted);
  EXPECT_EQ(writer.records(), 1);
}

TEST(RecordWriterTest, ChecksumTellsContentsApart) {
  MemoryFileSystem fs;
  const auto checksum = [&](const std::vector<std::string>& payloads) {
    auto sink = *fs.open_write("f");
    RecordWriter writer(*sink);
    for (const std::string& payload : payloads) EXPECT_TRUE(writer.write(payload));
    return writer.checksum();
  };
  EXPECT_EQ(checksum({"a", "b"}), checksum({"a", "b"}));
  EXPECT_NE(checksum({"a", "b"}), checksum({"b", "a"}));
  EXPECT_NE(checksum({"a", "b"}), checksum({"a"}));
  EXPECT_EQ(checksum({}), 0u);
}

// Fuzz: golden files with random edits, all policies. Any result will do, if it comes.
TEST(RecordReaderFuzz, MutatedFiles) {
  RandomStream random(Key::from_seed(2024));
  std::vector<std::string> seeds;
  for (const char* name : {"plain.tfrecord", "examples.tfrecord", "gzip.tfrecord", "zlib.tfrecord",
                           "gzip_concat.tfrecord", "trailing_zeros.tfrecord"})
    seeds.push_back(golden_bytes(name));
  for (int round = 0; round < 4000; ++round) {
    std::string bytes = seeds[random.below(seeds.size())];
    for (uint64_t edits = 1 + random.below(4); edits > 0 && !bytes.empty(); --edits) {
      const size_t at = random.below(bytes.size());
      switch (random.below(4)) {
        case 0: bytes[at] = static_cast<char>(random.below(256)); break;
        case 1: bytes.resize(at); break;
        case 2: bytes.erase(at, random.below(50)); break;
        case 3: bytes.insert(at, bytes.substr(random.below(bytes.size()), random.below(50))); break;
      }
    }
    for (const DamagePolicy policy :
         {DamagePolicy::kStop, DamagePolicy::kSkip, DamagePolicy::kSkipFile}) {
      const Outcome outcome = read_bytes(bytes, {.policy = policy, .buffer_bytes = 128});
      EXPECT_LE(outcome.payloads.size(), 1000u);
      if (policy != DamagePolicy::kStop) {
        EXPECT_FALSE(outcome.error);
      }
    }
  }
}

}  // namespace
}  // namespace headwater
