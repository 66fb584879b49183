// Compiled programs on disk, on files in memory.
#include "executors/pjrt/program_cache.h"

#include <gtest/gtest.h>

#include "io/memory_files.h"

namespace headwater::pjrt {
namespace {

TEST(ProgramCache, GivesBackWhatItKept) {
  MemoryFileSystem fs;
  const ProgramCache cache(fs, "/cache/xla");
  EXPECT_FALSE(cache.find("a"));
  ASSERT_TRUE(cache.keep("a", "program a"));
  ASSERT_TRUE(cache.keep("b", ""));
  EXPECT_EQ(cache.find("a"), "program a");
  EXPECT_EQ(cache.find("b"), "");
  ASSERT_TRUE(cache.keep("a", "another"));
  EXPECT_EQ(cache.find("a"), "another");
}

TEST(ProgramCache, DamagedEntriesAreNone) {
  MemoryFileSystem fs;
  const ProgramCache cache(fs, "/cache");
  ASSERT_TRUE(cache.keep("a", "some bytes of a program"));
  const std::string whole = fs.files().at("/cache/a.xla");
  for (size_t size = 0; size < whole.size(); ++size) {
    fs.put("/cache/a.xla", whole.substr(0, size));
    EXPECT_FALSE(cache.find("a")) << size;
  }
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    fs.put("/cache/a.xla", damaged);
    const auto found = cache.find("a");  // the end of the line after the digest holds nothing
    EXPECT_TRUE(!found || *found == "some bytes of a program") << i;
  }
}

TEST(ProgramCache, DropsTheOldest) {
  MemoryFileSystem fs;
  const ProgramCache cache(fs, "/cache", 1000);
  fs.put("/cache/notes.txt", std::string(5000, 'x'));
  ASSERT_TRUE(cache.keep("large", std::string(1001, 'x')));
  EXPECT_FALSE(cache.find("large"));
  for (const char* key : {"1", "2", "3", "4"}) ASSERT_TRUE(cache.keep(key, std::string(300, 'x')));
  int64_t total = 0;
  for (const auto& [path, content] : fs.files()) {
    if (path.ends_with(".xla")) total += static_cast<int64_t>(content.size());
  }
  EXPECT_LE(total, 1000);
  EXPECT_GT(total, 300);
  EXPECT_TRUE(fs.exists("/cache/notes.txt"));
}

TEST(ProgramCache, WithoutAFolderKeepsNothing) {
  MemoryFileSystem fs;
  const ProgramCache cache(fs, "");
  EXPECT_TRUE(cache.keep("a", "x"));
  EXPECT_FALSE(cache.find("a"));
  EXPECT_TRUE(fs.files().empty());
}

}  // namespace
}  // namespace headwater::pjrt
