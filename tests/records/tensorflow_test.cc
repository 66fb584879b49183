// TensorFlow itself reads what we write, and we read what it writes: where it is installed.
#include <gtest/gtest.h>

#include "checkpoints/python_peer.h"
#include "golden.h"
#include "records/example.h"
#include "records/record_file.h"

namespace headwater {
namespace {

class TensorFlowTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    // Looks for the package without importing it, which takes seconds.
    present_ = run_command(python() + " -c " +
                           quoted("import importlib.util as u, sys; "
                                  "sys.exit(u.find_spec('tensorflow') is None)"))
                   .first == 0;
  }
  void SetUp() override {
    if (!present_) GTEST_SKIP() << "no Python with tensorflow (set HW_PYTHON)";
    std::string pattern = testing::TempDir() + "headwater tf XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override {
    if (folder_.empty()) return;
    FileSystem& fs = local_files();
    const auto files = fs.list(folder_);
    for (const FileInfo& file : *files) (void)fs.remove(file.path);
    (void)fs.remove(folder_);
  }
  std::string path(const std::string& name) const { return join_path(folder_, name); }

  void write(const std::string& name, const std::vector<std::string>& payloads) const {
    auto file = AtomicFile::create(local_files(), path(name));
    ASSERT_TRUE(file);
    RecordWriter writer(file->sink());
    for (const std::string& payload : payloads) ASSERT_TRUE(writer.write(payload));
    ASSERT_TRUE(file->commit());
  }
  // What TensorFlow says about the files in the folder.
  Json check() const {
    const auto [status, output] = run_command(
        python() + " " + quoted(HW_TESTS_DIR "/compat/tfrecord_check.py") + " " + quoted(folder_));
    const size_t start = output.find("RESULT ");
    EXPECT_TRUE(status == 0 && start != std::string::npos) << output;
    return start == std::string::npos ? Json() : Json::parse(output.substr(start + 7));
  }

  std::string folder_;
  static inline bool present_ = false;
};

const std::vector<std::string> kRaw = {"", "a", std::string(100000, '\xff'), std::string(17, '\0')};

std::vector<std::vector<int32_t>> pretraining_rows(int32_t examples) {
  std::vector<std::vector<int32_t>> rows;
  for (int32_t r = 0; r < examples; ++r) {
    std::vector<int32_t> ids(64), mask(64), segments(64);
    for (int32_t i = 0; i < 64; ++i) {
      ids[static_cast<size_t>(i)] = (r * 977 + i * i * 31) % 35000;
      mask[static_cast<size_t>(i)] = i < 40 + r ? 1 : 0;
      segments[static_cast<size_t>(i)] = i > 20 && i < 40 + r ? 1 : 0;
    }
    rows.insert(rows.end(), {ids, mask, segments});
  }
  return rows;
}

std::vector<std::string> serialize_rows(const std::vector<std::vector<int32_t>>& rows) {
  std::vector<std::string> payloads;
  for (size_t r = 0; r < rows.size(); r += 3) {
    const IntFeature features[] = {
        {"input_ids", rows[r]}, {"input_mask", rows[r + 1]}, {"segment_ids", rows[r + 2]}};
    append_example(features, payloads.emplace_back());
  }
  return payloads;
}

const Example kAllKinds = {{"i", std::vector<int64_t>{-1, 0, INT64_MAX, INT64_MIN, 127, 128}},
                           {"f", std::vector<float>{0.5f, -1e30f}},
                           {"b", std::vector<std::string>{"", std::string("\x00\xff", 2)}},
                           {"empty", std::vector<int64_t>()},
                           {"none", std::monostate()},
                           {"한국어", std::vector<int64_t>{1}}};

void expect_raw(const Json& found) {
  ASSERT_EQ(found.size(), kRaw.size());
  for (size_t i = 0; i < kRaw.size(); ++i) {
    std::string hex;
    for (const char c : kRaw[i]) hex += fmt::format("{:02x}", static_cast<uint8_t>(c));
    EXPECT_EQ(found[i], hex);
  }
}

void expect_all_kinds(const Json& found) {
  EXPECT_EQ(found["i"]["values"], Json({-1, 0, INT64_MAX, INT64_MIN, 127, 128}));
  EXPECT_EQ(found["f"]["kind"], "float_list");
  EXPECT_EQ(found["b"]["values"], Json({"", "00ff"}));
  EXPECT_EQ(found["empty"]["kind"], "int64_list");
  EXPECT_TRUE(found["none"]["kind"].is_null());
  EXPECT_EQ(found["한국어"]["values"], Json({1}));
}

TEST_F(TensorFlowTest, ReadsWhatWeWriteAndWritesWhatWeRead) {
  const auto rows = pretraining_rows(20);
  write("raw", kRaw);
  write("pretrain", serialize_rows(rows));
  write("all", {serialize_example(kAllKinds)});
  const Json found = check();
  ASSERT_TRUE(found.is_object());
  expect_raw(found["raw"]);
  ASSERT_EQ(found["pretrain"].size(), 20u);
  for (size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(found["pretrain"][i]["input_ids"], Json(rows[3 * i]));
    EXPECT_EQ(found["pretrain"][i]["input_mask"], Json(rows[3 * i + 1]));
    EXPECT_EQ(found["pretrain"][i]["segment_ids"], Json(rows[3 * i + 2]));
  }
  ASSERT_EQ(found["all"].size(), 1u);
  expect_all_kinds(found["all"][0]);

  for (const std::string suffix : {"", ".gzip", ".zlib"}) {
    auto reader = RecordReader::open(local_files(), path("theirs" + suffix));
    ASSERT_TRUE(reader);
    std::string payload;
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(*reader->next(payload));
      const auto example = parse_example(payload);
      ASSERT_TRUE(example);
      EXPECT_EQ(std::get<std::vector<int64_t>>(example->at("ints")),
                (std::vector<int64_t>{-1, 0, int64_t{1} << 31, INT64_MAX, INT64_MIN}));
      EXPECT_EQ(std::get<std::vector<std::string>>(example->at("bytes")),
                (std::vector<std::string>{"한", ""}));
    }
    EXPECT_FALSE(*reader->next(payload));
  }
}

}  // namespace
}  // namespace headwater
