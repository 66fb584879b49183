// metrics.jsonl: whole lines, truncation on resume, damaged files, faults.
#include "train/metrics_log.h"

#include <gtest/gtest.h>

#include <cmath>

#include "io/fault_files.h"
#include "io/memory_files.h"

namespace headwater {
namespace {

std::string content(const MemoryFileSystem& files) { return files.files().at("run/metrics.jsonl"); }

Result<MetricsLog> open(FileSystem& files, std::optional<int64_t> resume_step = std::nullopt) {
  return MetricsLog::open(files, "run/metrics.jsonl", resume_step);
}

TEST(MetricsLog, OneLineAStep) {
  MemoryFileSystem files;
  ASSERT_TRUE(files.make_directories("run"));
  auto log = open(files);
  ASSERT_TRUE(log) << log.error().to_string();
  ASSERT_TRUE(log->write(10, "train", {{"loss", 6.5}, {"learning_rate", 1e-4}}));
  ASSERT_TRUE(log->write(10, "heldout", {{"loss", std::nan("")}}));
  EXPECT_EQ(content(files),
            "{\"step\":10,\"split\":\"train\",\"loss\":6.5,\"learning_rate\":0.0001}\n"
            "{\"step\":10,\"split\":\"heldout\",\"loss\":null}\n");
  EXPECT_TRUE(log->close());
  EXPECT_TRUE(open(files));
  EXPECT_EQ(content(files), "");  // a new run begins anew
}

TEST(MetricsLog, ResumeKeepsTheLinesUpToItsStep) {
  MemoryFileSystem files;
  files.put("run/metrics.jsonl",
            "{\"step\":10,\"loss\":3}\n{\"step\":20,\"loss\":2}\r\nnot json\n[1]\n{\"loss\":9}\n"
            "{\"step\":15,\"split\":\"heldout\"}\n{\"step\":30}\n{\"step\":20,\"lo");
  auto log = open(files, 20);
  ASSERT_TRUE(log);
  ASSERT_TRUE(log->write(30, "train", {}));
  EXPECT_EQ(content(files),
            "{\"step\":10,\"loss\":3}\n{\"step\":20,\"loss\":2}\r\n"
            "{\"step\":15,\"split\":\"heldout\"}\n{\"step\":30,\"split\":\"train\"}\n");
}

TEST(MetricsLog, ResumeWithoutAFileOrWithAnEndlessLine) {
  MemoryFileSystem files;
  ASSERT_TRUE(files.make_directories("run"));
  EXPECT_TRUE(open(files, 5));
  files.put("run/metrics.jsonl", std::string(3 << 20, 'x') + "\n{\"step\":1}\n");
  EXPECT_TRUE(open(files, 5));
  EXPECT_EQ(content(files), "{\"step\":1}\n");
}

// A fault while resuming is an error, and the old file or the new one is there.
TEST(MetricsLog, EveryFaultLeavesTheOldOrTheNewFile) {
  const std::string old = "{\"step\":1}\n{\"step\":2}\n{\"step\":3}\n";
  const std::string kept = "{\"step\":1}\n{\"step\":2}\n";
  MemoryFileSystem base;
  base.put("run/metrics.jsonl", old);
  FaultFileSystem counted(base);
  ASSERT_TRUE(open(counted, 2));
  for (int64_t nth = 1; nth <= counted.operations(); ++nth) {
    MemoryFileSystem files;
    files.put("run/metrics.jsonl", old);
    FaultFileSystem faulty(files);
    faulty.crash_at(nth);
    EXPECT_FALSE(open(faulty, 2)) << nth;
    EXPECT_TRUE(content(files) == old || content(files) == kept) << content(files);
  }
}

}  // namespace
}  // namespace headwater
