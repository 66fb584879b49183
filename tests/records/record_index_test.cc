#include "records/record_index.h"

#include <gtest/gtest.h>

#include <thread>

#include "golden.h"
#include "io/memory_files.h"

namespace headwater {
namespace {

std::string write_records(const std::vector<std::string>& payloads) {
  MemoryFileSystem fs;
  auto sink = *fs.open_write("f");
  RecordWriter writer(*sink);
  for (const std::string& payload : payloads) EXPECT_TRUE(writer.write(payload));
  return fs.files().at("f");
}

std::vector<std::string> sequential(FileSystem& fs, const std::string& path) {
  std::vector<std::string> payloads;
  auto reader = RecordReader::open(fs, path);
  std::string payload;
  while (*reader->next(payload)) payloads.push_back(payload);
  return payloads;
}

TEST(RecordIndexTest, RandomEqualsSequentialForEveryCompression) {
  for (const char* name :
       {"plain.tfrecord", "gzip.tfrecord", "zlib.tfrecord", "gzip_concat.tfrecord",
        "empty.tfrecord", "gzip_empty.tfrecord", "examples.tfrecord"}) {
    SCOPED_TRACE(name);
    const std::string path = golden_path(name);
    const auto expected = sequential(local_files(), path);
    auto index = index_records(local_files(), path);
    ASSERT_TRUE(index) << index.error().to_string();
    auto reader = RandomRecordReader::open(local_files(), *std::move(index));
    ASSERT_TRUE(reader) << reader.error().to_string();
    ASSERT_EQ(reader->size(), static_cast<int64_t>(expected.size()));
    std::string payload;
    for (int64_t i = reader->size() - 1; i >= 0; --i) {
      ASSERT_TRUE(reader->read(i, payload));
      EXPECT_EQ(payload, expected[static_cast<size_t>(i)]);
    }
    EXPECT_EQ(reader->read(reader->size(), payload).error().code, Code::kOutOfRange);
    EXPECT_EQ(reader->read(-1, payload).error().code, Code::kOutOfRange);
  }
}

TEST(RecordIndexTest, RecordsOverWindowsAndThreads) {
  std::vector<std::string> payloads;
  for (int i = 0; i < 500; ++i)
    payloads.push_back(std::string(static_cast<size_t>((i * i * 37) % 5000), static_cast<char>(i)));
  payloads.push_back(std::string(1 << 19, 'L'));
  payloads.push_back("last");
  MemoryFileSystem fs;
  fs.put("f", write_records(payloads));
  auto reader = RandomRecordReader::open(fs, *index_records(fs, "f"));
  ASSERT_TRUE(reader);
  ASSERT_EQ(reader->size(), 502);
  std::vector<std::thread> threads;
  for (int64_t t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      std::string payload;
      for (int64_t i = t; i < reader->size(); i += 2) {
        ASSERT_TRUE(reader->read(i, payload));
        EXPECT_EQ(payload, payloads[static_cast<size_t>(i)]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(RecordIndexTest, DamageIsFoundByTheIndexOrTheRead) {
  MemoryFileSystem fs;
  const std::string file = write_records({"first", "second", "third"});
  fs.put("cut", file.substr(0, file.size() - 6));
  const auto cut = index_records(fs, "cut");
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().to_string(),
            "cut: record 2 (counted from 0) at byte 43: the file ends inside its payload, 6 of 9 "
            "bytes are missing; the file was cut short: get or build it again");

  const auto skipping = index_records(fs, "cut", {.policy = DamagePolicy::kSkip});
  ASSERT_TRUE(skipping);
  EXPECT_EQ(skipping->records.size(), 2u);
  EXPECT_EQ(skipping->damages_skipped, 1);

  std::string flipped = file;
  flipped[21 + 13] ^= 1;
  fs.put("flipped", flipped);
  auto reader = RandomRecordReader::open(fs, *index_records(fs, "flipped"));
  std::string payload;
  EXPECT_TRUE(reader->read(0, payload));
  EXPECT_EQ(reader->read(1, payload).error().to_string(),
            "flipped: record 1 (counted from 0) at byte 21: its payload of 6 bytes does not match "
            "its checksum; get or build the file again");
  EXPECT_TRUE(reader->read(2, payload));

  // The file changed after it was indexed.
  auto index = *index_records(fs, "flipped");
  fs.put("flipped", write_records({"another", "file"}));
  reader = RandomRecordReader::open(fs, index);
  EXPECT_EQ(reader->read(1, payload).error().code, Code::kDataLoss);
  fs.put("flipped", "");
  reader = RandomRecordReader::open(fs, index);
  EXPECT_EQ(reader->read(0, payload).error().code, Code::kDataLoss);
}

TEST(RecordIndexTest, CompressedFilesAreHeldInMemoryWithinALimit) {
  const std::string path = golden_path("gzip.tfrecord");
  const RecordIndex index = *index_records(local_files(), path);
  EXPECT_EQ(index.compression, Compression::kGzip);
  EXPECT_EQ(index.unpacked_bytes, 1367);
  EXPECT_TRUE(RandomRecordReader::open(local_files(), index, 1367)->in_memory());
  const auto refused = RandomRecordReader::open(local_files(), index, 1366);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
  EXPECT_NE(refused.error().to_string().find("unpack the file"), std::string::npos);
}

}  // namespace
}  // namespace headwater
