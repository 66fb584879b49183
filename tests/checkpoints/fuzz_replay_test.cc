// The fuzzers' targets over their seeds and over what the fuzzers kept.
#include <gtest/gtest.h>

#include <filesystem>

#include "byte_streams.h"
#include "checkpoints/byte_cursor.h"
#include "fuzz_targets.h"

namespace headwater {
namespace {

namespace fs = std::filesystem;

int replay(const FuzzTarget& target, const fs::path& path) {
  int files = 0;
  if (fs::is_regular_file(path)) {
    const std::string input = file_text(path);
    target.run(as_bytes(input));
    return 1;
  }
  if (!fs::is_directory(path)) return 0;
  for (const auto& entry : fs::recursive_directory_iterator(path))
    if (entry.is_regular_file()) files += replay(target, entry.path());
  return files;
}

TEST(FuzzReplay, SeedsAndCorpora) {
  for (const FuzzTarget& target : fuzz_targets()) {
    SCOPED_TRACE(std::string(target.name));
    for (const std::string_view seed : target.seeds)
      EXPECT_GT(replay(target, fs::path(HW_TESTS_DIR) / "golden" / seed), 0) << seed;
    replay(target, fs::path(HW_TESTS_DIR) / ".." / "fuzz" / "corpus" / target.name);
    target.run({});
  }
}

}  // namespace
}  // namespace headwater
