// TensorBoard event files: bytes against TensorBoard's own messages, resumed runs, faults.
#include "train/event_writer.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "checkpoints/python_peer.h"
#include "io/fault_files.h"
#include "io/memory_files.h"

namespace headwater {
namespace {

EventWriterOptions counting_clock(std::optional<int64_t> resume_step = std::nullopt) {
  return {resume_step, [second = 1700000000.0]() mutable { return second++; }};
}

std::string content(MemoryFileSystem& files, const std::string& path) {
  const auto all = files.files();
  return all.contains(path) ? all.at(path) : "";
}

// The events of tests/golden/events/make_events.py.
TEST(EventWriter, BytesAreThoseOfTensorBoardsMessages) {
  MemoryFileSystem files;
  auto writer = EventWriter::open(files, "run/events", counting_clock(20));
  ASSERT_TRUE(writer) << writer.error().to_string();
  ASSERT_TRUE(writer->add_text(0, "run/options", "`tiny` 설정"));
  ASSERT_TRUE(writer->add_scalars(30, "train/", {{"masked_lm_loss", 6.5}, {"disc_loss", 0.40625}}));
  ASSERT_TRUE(writer->add_scalars(40, "train/", {{"masked_lm_loss", 6.25}, {"disc_loss", 0.1}}));
  ASSERT_TRUE(writer->close());
  std::ifstream golden(HW_TESTS_DIR "/golden/events/events.bin", std::ios::binary);
  std::ostringstream expected;
  expected << golden.rdbuf();
  EXPECT_EQ(content(files, writer->path()), expected.str());
  EXPECT_TRUE(writer->path().starts_with("run/events/events.out.tfevents.1700000000."));
}

TEST(EventWriter, AResumedRunsFileSortsLast) {
  MemoryFileSystem files;
  std::vector<std::string> paths;
  for (int i = 0; i < 3; ++i) {
    auto writer = EventWriter::open(files, "events", counting_clock(i));
    ASSERT_TRUE(writer);
    paths.push_back(writer->path());
  }
  EXPECT_TRUE(std::is_sorted(paths.begin(), paths.end()));
  EXPECT_EQ(files.files().size(), 3u);
}

TEST(EventWriter, EveryEventIsThereAtOnce) {
  MemoryFileSystem files;
  auto writer = EventWriter::open(files, "events", counting_clock());
  size_t size = content(files, writer->path()).size();
  EXPECT_GT(size, 0u);
  ASSERT_TRUE(writer->add_scalars(1, "", {{"loss", 1}}));
  EXPECT_GT(content(files, writer->path()).size(), size);
}

TEST(EventWriter, EveryFaultIsAnError) {
  const auto work = [](FileSystem& fs) -> Result<> {
    HW_ASSIGN_OR_RETURN(EventWriter writer, EventWriter::open(fs, "a/b", counting_clock(3)));
    HW_RETURN_IF_ERROR(writer.add_scalars(4, "train/", {{"loss", 2}, {"rate", 1e-3}}));
    HW_RETURN_IF_ERROR(writer.add_text(4, "note", "text"));
    return writer.close();
  };
  MemoryFileSystem base;
  FaultFileSystem counted(base);
  ASSERT_TRUE(work(counted));
  for (int64_t nth = 1; nth <= counted.operations(); ++nth) {
    MemoryFileSystem fresh;
    FaultFileSystem faulty(fresh);
    faulty.fail_at(nth);
    EXPECT_FALSE(work(faulty)) << nth;
  }
}

TEST(EventWriter, TensorBoardReadsIt) {
  if (!python_has("tensorboard")) GTEST_SKIP() << "no Python with tensorboard (set HW_PYTHON)";
  const auto folder =
      std::filesystem::temp_directory_path() / ("headwater events " + std::to_string(::getpid()));
  const auto write = [&](std::optional<int64_t> resume, int64_t from, int64_t to) {
    auto writer = EventWriter::open(local_files(), folder, {resume});
    ASSERT_TRUE(writer) << writer.error().to_string();
    ASSERT_TRUE(writer->add_text(from, "run/options", "# 설정"));
    for (int64_t step = from; step <= to; step += 10) {
      ASSERT_TRUE(writer->add_scalars(step, "train/", {{"loss", 1.0 / static_cast<double>(step)}}));
    }
    ASSERT_TRUE(writer->close());
  };
  write(std::nullopt, 10, 40);
  write(20, 30, 50);
  const auto [status, output] = run_command(
      python() + " " + quoted(HW_TESTS_DIR "/compat/events_check.py") + " " + quoted(folder));
  std::filesystem::remove_all(folder);
  ASSERT_EQ(status, 0) << output;
  const auto found =
      nlohmann::json::parse(output.substr(output.find("{\"plugins\"")));  // after warnings
  EXPECT_EQ(found["plugins"]["train/loss"], "scalars");
  EXPECT_EQ(found["plugins"]["run/options"], "text");
  EXPECT_EQ(found["run/options"][0][1], "# 설정");
  // This reader keeps what a resumed run repeats; TensorBoard's own data server drops it.
  std::vector<int64_t> steps;
  for (const auto& point : found["train/loss"]) steps.push_back(point[0]);
  EXPECT_EQ(steps, (std::vector<int64_t>{10, 20, 30, 40, 30, 40, 50}));
  EXPECT_FLOAT_EQ(found["train/loss"][0][1].get<float>(), 0.1f);
}

}  // namespace
}  // namespace headwater
