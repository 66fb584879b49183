// Damaged weights of every format: files cut at every byte, and files with changed bytes, are
// errors or read as something; nothing crashes, hangs or takes more memory than the file could
// fill. Where a format has checksums, what is read is what was written or it is an error.
#include <gtest/gtest.h>

#include <cctype>
#include <cstring>

#include "base/threefry.h"
#include "weights_testing.h"

namespace headwater {
namespace {

struct Subject {
  std::string name;
  std::map<std::string, std::string> files;
  std::string path;      // what is opened
  bool checked = false;  // every byte that matters is under a checksum
};

std::vector<Subject> subjects() {
  std::vector<Subject> all;
  const auto add = [&](const std::string& folder, const std::string& start, const std::string& path,
                       bool checked) {
    all.push_back({folder + "/" + start, golden_files(folder, start), path, checked});
  };
  add("tf_checkpoint", "dtypes", "dtypes.ckpt", true);
  add("tf_checkpoint", "sliced", "sliced.ckpt", true);
  add("tf_checkpoint", "sharded", "sharded.ckpt", true);
  add("tf_checkpoint", "manykeys_snappy", "manykeys_snappy.ckpt", true);
  add("tf_checkpoint", "tf1/", "tf1", true);
  add("tf_checkpoint", "tf2_keras/", "tf2_keras/ckpt", true);
  add("torch", "pytorch_model.bin", "pytorch_model.bin", true);
  add("torch", "training_ckpt.bin", "training_ckpt.bin", true);
  add("torch", "handmade_minimal.bin", "handmade_minimal.bin", true);
  add("torch", "legacy_model.bin", "legacy_model.bin", false);
  add("torch", "model.safetensors", "model.safetensors", false);
  add("torch", "sharded/", "sharded", false);
  add("keras_h5", "tf_model.h5", "tf_model.h5", false);
  return all;
}

class Damage : public testing::TestWithParam<Subject> {
 protected:
  // Opens and reads everything; with checksums, only the truth may come of it.
  void expect_harmless(MemoryFileSystem& fs, const std::string& what) {
    const auto contents = read_contents(fs, GetParam().path);
    if (!contents) {
      EXPECT_FALSE(contents.error().message.empty());
      return;
    }
    if (!GetParam().checked) return;
    for (const auto& [name, content] : *contents) {
      const auto found = whole_.find(name);
      ASSERT_TRUE(found != whole_.end()) << what << ": a tensor '" << name << "' from nowhere";
      EXPECT_EQ(content, found->second) << what << ": tensor '" << name << "' is not what it was";
    }
  }
  void SetUp() override {
    MemoryFileSystem fs;
    put_all(fs, GetParam().files);
    auto contents = read_contents(fs, GetParam().path);
    ASSERT_TRUE(contents) << contents.error().to_string();
    whole_ = *std::move(contents);
  }

  Contents whole_;
};

// Every length up to 1,500 bytes and near the end; long middles in steps.
TEST_P(Damage, CutAtEveryByte) {
  for (const auto& [path, content] : GetParam().files) {
    const size_t size = content.size();
    for (size_t length = 0; length < size;
         length += length < 1500 || length + 300 > size ? 1 : 37) {
      MemoryFileSystem fs;
      put_all(fs, GetParam().files);
      fs.put(path, content.substr(0, length));
      expect_harmless(fs, fmt::format("{} cut to {} bytes", path, length));
    }
  }
}

TEST_P(Damage, ChangedBytes) {
  uint32_t draw = 0;
  const auto random = [&](uint64_t below) { return threefry2x32(0x5eed, 7, draw++, 0).x0 % below; };
  for (const auto& [path, content] : GetParam().files) {
    for (int round = 0; round < 400; ++round) {
      std::string changed = content;
      const uint64_t changes = 1 + random(3);
      for (uint64_t c = 0; c < changes && !changed.empty(); ++c) {
        // Half of the changes near the front, where lengths and counts are.
        const uint64_t at =
            random(random(2) == 0 ? std::min<uint64_t>(changed.size(), 300) : changed.size());
        static constexpr uint8_t kValues[] = {0, 1, 0x7f, 0x80, 0xff};
        changed[at] = random(2) == 0 ? static_cast<char>(kValues[random(5)])
                                     : static_cast<char>(changed[at] ^ (1 << random(8)));
      }
      MemoryFileSystem fs;
      put_all(fs, GetParam().files);
      fs.put(path, changed);
      expect_harmless(fs, fmt::format("{} round {}", path, round));
    }
  }
}

// Numbers of 2^60 and more in the place of any eight bytes.
TEST_P(Damage, HugeNumbers) {
  for (const auto& [path, content] : GetParam().files) {
    const size_t end = std::min<size_t>(content.size(), 600);
    for (size_t at = 0; at + 8 <= end; ++at) {
      for (const uint64_t number : {uint64_t{1} << 60, ~uint64_t{0}, uint64_t{1} << 31}) {
        std::string changed = content;
        std::memcpy(changed.data() + at, &number, 8);
        MemoryFileSystem fs;
        put_all(fs, GetParam().files);
        fs.put(path, changed);
        expect_harmless(fs, fmt::format("{} byte {}", path, at));
      }
    }
  }
}

std::string test_name(const testing::TestParamInfo<Subject>& subject) {
  std::string name = subject.param.name;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(EveryFormat, Damage, testing::ValuesIn(subjects()), test_name);

}  // namespace
}  // namespace headwater
