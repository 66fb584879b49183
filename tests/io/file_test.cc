// Local files, memory files, whole-file helpers and patterns.
#include "io/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "io/buffered_sink.h"
#include "io/fault_files.h"
#include "io/memory_files.h"

namespace headwater {
namespace {

class LocalFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "headwater io XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override { remove_all(root_); }
  static void remove_all(const std::string& path) {
    FileSystem& fs = local_files();
    if (const auto entries = fs.list(path)) {
      for (const FileInfo& entry : *entries) remove_all(entry.path);
    }
    (void)fs.remove(path);
  }
  std::string path(std::string_view name) const { return join_path(root_, name); }

  std::string root_;
  FileSystem& fs_ = local_files();
};

std::string text_of(const Result<std::string>& result) {
  return result ? *result : "error: " + result.error().to_string();
}

TEST(Paths, JoinBaseDirectory) {
  EXPECT_EQ(join_path("a", "b"), "a/b");
  EXPECT_EQ(join_path("a/", "b"), "a/b");
  EXPECT_EQ(join_path("", "b"), "b");
  EXPECT_EQ(join_path("a", "/b"), "/b");
  EXPECT_EQ(base_name("a/b.txt"), "b.txt");
  EXPECT_EQ(base_name("a/b/"), "b");
  EXPECT_EQ(base_name("b"), "b");
  EXPECT_EQ(base_name("/"), "/");
  EXPECT_EQ(directory_name("a/b.txt"), "a");
  EXPECT_EQ(directory_name("a/b/"), "a");
  EXPECT_EQ(directory_name("b"), ".");
  EXPECT_EQ(directory_name("/b"), "/");
  EXPECT_EQ(directory_name("/"), "/");
}

TEST_F(LocalFilesTest, WritesReadsListsRenamesRemoves) {
  ASSERT_TRUE(fs_.make_directories(path("a/b/c")));
  ASSERT_TRUE(fs_.make_directories(path("a/b/c")));
  auto sink = fs_.open_write(path("a/b/한국어.txt"));
  ASSERT_TRUE(sink) << sink.error().to_string();
  ASSERT_TRUE((*sink)->write("hello "));
  EXPECT_EQ(text_of(read_file(fs_, path("a/b/한국어.txt"))), "hello ");  // not buffered
  ASSERT_TRUE((*sink)->write("world"));
  ASSERT_TRUE((*sink)->close());
  ASSERT_TRUE((*sink)->close());
  EXPECT_EQ(text_of(read_file(fs_, path("a/b/한국어.txt"))), "hello world");

  const auto entries = fs_.list(path("a/b"));
  ASSERT_TRUE(entries);
  ASSERT_EQ(entries->size(), 2u);
  EXPECT_TRUE((*entries)[0].is_directory);
  EXPECT_EQ((*entries)[1].path, path("a/b/한국어.txt"));
  EXPECT_EQ((*entries)[1].size, 11);

  ASSERT_TRUE(fs_.rename(path("a/b/한국어.txt"), path("x")));
  EXPECT_FALSE(fs_.exists(path("a/b/한국어.txt")));
  EXPECT_EQ(text_of(read_file(fs_, path("x"))), "hello world");
  ASSERT_TRUE(fs_.remove(path("x")));
  EXPECT_FALSE(fs_.exists(path("x")));
  EXPECT_EQ(fs_.remove(path("a")).error().code, Code::kAlreadyExists);  // not empty
}

TEST_F(LocalFilesTest, ReadsAtOffsetsFromThreads) {
  std::string content(100000, ' ');
  for (size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 31 + i / 256);
  ASSERT_TRUE(write_file_atomic(fs_, path("f"), content));
  const auto file = fs_.open_random(path("f"));
  ASSERT_TRUE(file);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int64_t offset = t; offset < 100000; offset += 997) {
        uint8_t bytes[64];
        const auto n = (*file)->read_at(offset, bytes);
        ASSERT_TRUE(n);
        EXPECT_EQ(*n, std::min<size_t>(64, content.size() - static_cast<size_t>(offset)));
        EXPECT_EQ(std::string_view(reinterpret_cast<char*>(bytes), *n),
                  std::string_view(content).substr(static_cast<size_t>(offset), *n));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  uint8_t byte;
  EXPECT_EQ(*(*file)->read_at(100000, {&byte, 1}), 0u);
  EXPECT_EQ(*(*file)->read_at(int64_t{1} << 40, {&byte, 1}), 0u);
}

TEST_F(LocalFilesTest, MapsWholeFiles) {
  const std::string content = std::string(10000, 'x') + "end";
  ASSERT_TRUE(write_file_atomic(fs_, path("f"), content));
  Result<FileBytes> file = fs_.map(path("f"));
  ASSERT_TRUE(file);
  const FileBytes copy = *file;
  *file = FileBytes();
  ASSERT_TRUE(fs_.remove(path("f")));  // the bytes outlive the name
  EXPECT_EQ(copy.text(), content);
  ASSERT_TRUE(write_file_atomic(fs_, path("empty"), ""));
  EXPECT_EQ(fs_.map(path("empty"))->size(), 0);
  EXPECT_EQ(fs_.map(path("none")).error().code, Code::kNotFound);
  EXPECT_NE(fs_.map("/dev/null").error().to_string().find("not a regular file"), std::string::npos);
  EXPECT_FALSE(fs_.map(root_));
}

TEST_F(LocalFilesTest, ErrorsSayWhatAndWhere) {
  const auto missing = read_file(fs_, path("none"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kNotFound);
  EXPECT_NE(missing.error().to_string().find(path("none")), std::string::npos);

  const auto directory = fs_.open_read(root_);
  ASSERT_FALSE(directory);
  EXPECT_EQ(directory.error().to_string(), "cannot read " + root_ + ": it is a directory");
  EXPECT_FALSE(fs_.open_random(root_));

  EXPECT_EQ(fs_.open_write(path("no/such")).error().code, Code::kNotFound);
  EXPECT_EQ(fs_.list(path("none")).error().code, Code::kNotFound);

  ASSERT_TRUE(write_file_atomic(fs_, path("file"), "x"));
  EXPECT_EQ(fs_.make_directories(path("file")).error().code, Code::kAlreadyExists);
  EXPECT_FALSE(fs_.make_directories(path("file/below")));
  EXPECT_EQ(fs_.open_read(path("file/below")).error().code, Code::kNotFound);
}

TEST_F(LocalFilesTest, UnreadableFile) {
  ASSERT_TRUE(write_file_atomic(fs_, path("secret"), "x"));
  ASSERT_EQ(chmod(path("secret").c_str(), 0), 0);
  ASSERT_EQ(chmod(root_.c_str(), 0755), 0);
  const uid_t user = geteuid();
  if (user == 0) {  // root may read every file
    ASSERT_EQ(seteuid(65534), 0);
  }
  const auto result = read_file(fs_, path("secret"));
  ASSERT_EQ(seteuid(user), 0);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kPermissionDenied);
  EXPECT_NE(result.error().to_string().find("secret"), std::string::npos);
}

TEST_F(LocalFilesTest, FullDiskIsSaidSo) {
  auto sink = fs_.open_write("/dev/full");
  if (!sink) GTEST_SKIP() << "no /dev/full here";
  const auto written = (*sink)->write("x");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Code::kResourceExhausted);
  EXPECT_NE(written.error().to_string().find("/dev/full"), std::string::npos);
}

TEST_F(LocalFilesTest, ReadFileIsBounded) {
  ASSERT_TRUE(write_file_atomic(fs_, path("f"), std::string(1000, 'x')));
  EXPECT_EQ(text_of(read_file(fs_, path("f"), 1000)).size(), 1000u);
  const auto result = read_file(fs_, path("f"), 999);
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("1000 bytes, more than the limit of 999"),
            std::string::npos);
  // Size 0 in stat, endless in truth.
  EXPECT_FALSE(read_file(fs_, "/dev/zero", 100000));
}

TEST_F(LocalFilesTest, AtomicFileAppearsOnCommitOnly) {
  ASSERT_TRUE(write_file_atomic(fs_, path("f"), "old"));
  {
    auto file = AtomicFile::create(fs_, path("f"));
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->sink().write("new"));
    AtomicFile moved = *std::move(file);
    EXPECT_EQ(text_of(read_file(fs_, path("f"))), "old");
    EXPECT_EQ(fs_.list(root_)->size(), 2u);
  }
  EXPECT_EQ(text_of(read_file(fs_, path("f"))), "old");
  EXPECT_EQ(fs_.list(root_)->size(), 1u);
  ASSERT_TRUE(write_file_atomic(fs_, path(std::string(250, 'n')), "long name"));
  EXPECT_EQ(text_of(read_file(fs_, path(std::string(250, 'n')))), "long name");
}

TEST_F(LocalFilesTest, GlobOnDisk) {
  ASSERT_TRUE(fs_.make_directories(path("d [1]")));
  ASSERT_TRUE(write_file_atomic(fs_, path("d [1]/a.tfrecord"), "x"));
  EXPECT_EQ(*glob_files(fs_, path("d [1]/a.tfrecord")),
            std::vector<std::string>{path("d [1]/a.tfrecord")});
  EXPECT_EQ(*glob_files(fs_, path("d*/*.tfrecord")),
            std::vector<std::string>{path("d [1]/a.tfrecord")});
}

std::vector<std::string> glob(FileSystem& fs, std::string_view patterns) {
  const auto files = glob_files(fs, patterns);
  return files ? *files : std::vector<std::string>{"error: " + files.error().message};
}

TEST(Glob, Patterns) {
  using Files = std::vector<std::string>;
  MemoryFileSystem fs;
  for (const char* name : {"a1.txt", "a2.txt", "b1.txt", "한.txt", "한국.txt", ".hidden.txt",
                           "sub/x.txt", "sub/y.txt", "sub2/x.txt", "odd[1].txt", "p,q.txt"})
    fs.put(name, "");
  EXPECT_EQ(glob(fs, "a?.txt"), (Files{"a1.txt", "a2.txt"}));
  EXPECT_EQ(glob(fs, "?.txt"), (Files{"한.txt"}));
  EXPECT_EQ(glob(fs, "[ab]1.txt"), (Files{"a1.txt", "b1.txt"}));
  EXPECT_EQ(glob(fs, "[!a]1.txt"), (Files{"b1.txt"}));
  EXPECT_EQ(glob(fs, "[가-힣].txt"), (Files{"한.txt"}));
  EXPECT_EQ(glob(fs, "a[0-1].txt,b[1,2].txt"), (Files{"a1.txt", "b1.txt"}));
  EXPECT_EQ(glob(fs, "*/x.txt"), (Files{"sub/x.txt", "sub2/x.txt"}));
  EXPECT_EQ(glob(fs, "./sub/*"), (Files{"./sub/x.txt", "./sub/y.txt"}));
  EXPECT_EQ(glob(fs, ".h*"), (Files{".hidden.txt"}));
  EXPECT_EQ(glob(fs, "odd[1].txt"), (Files{"odd[1].txt"}));
  EXPECT_EQ(glob(fs, "p,q.txt"), (Files{"p,q.txt"}));
  EXPECT_EQ(glob(fs, "a1.txt,a*,a1.txt"), (Files{"a1.txt", "a2.txt"}));
  EXPECT_EQ(glob(fs, "*a*1*t"), (Files{"a1.txt"}));
  EXPECT_EQ(glob(fs, "a1.txt,none*"), (Files{"error: no file matches none*"}));
  EXPECT_EQ(glob(fs, "none/*.txt"), (Files{"error: no file matches none/*.txt"}));
  EXPECT_EQ(glob(fs, "a1.txt/*"), (Files{"error: no file matches a1.txt/*"}));
  EXPECT_EQ(glob(fs, "sub"), (Files{"error: sub names a directory, not files"}));
  EXPECT_EQ(glob(fs, ""), (Files{"error: no file pattern given"}));
  EXPECT_EQ(glob(fs, "["), (Files{"error: no file matches ["}));
  EXPECT_EQ(glob(fs, "*,sub/?.txt").size(), 9u);
}

TEST(Glob, ManyStarsStayFast) {
  MemoryFileSystem fs;
  fs.put(std::string(200, 'a') + "b", "");
  std::string pattern;
  for (int i = 0; i < 60; ++i) pattern += "*a";
  EXPECT_FALSE(glob_files(fs, pattern + "c"));
}

TEST(MemoryFiles, BehaveAsADisk) {
  MemoryFileSystem fs;
  EXPECT_EQ(fs.open_write("no/file").error().code, Code::kNotFound);
  ASSERT_TRUE(fs.make_directories("no/where"));
  ASSERT_TRUE(fs.open_write("no/file"));
  EXPECT_EQ(fs.open_read("no").error().code, Code::kInvalidArgument);
  EXPECT_EQ(fs.open_write("no").error().code, Code::kInvalidArgument);
  EXPECT_EQ(fs.make_directories("no/file/x").error().code, Code::kAlreadyExists);
  EXPECT_EQ(fs.remove("no").error().code, Code::kAlreadyExists);
  fs.put("no/where/deep/f", "1");
  ASSERT_TRUE(fs.rename("no/where", "moved"));
  EXPECT_EQ(*read_file(fs, "moved/deep/f"), "1");
  EXPECT_FALSE(fs.exists("no/where"));
  EXPECT_EQ(fs.list("moved")->size(), 1u);
  EXPECT_EQ(fs.rename("none", "x").error().code, Code::kNotFound);
}

TEST(MemoryFiles, LoseWhatWasNotSynced) {
  MemoryFileSystem fs;
  fs.put("kept", "old");
  auto kept = *fs.open_write("kept");
  auto fresh = *fs.open_write("fresh");
  ASSERT_TRUE(kept->write("new"));
  ASSERT_TRUE(fresh->write("new"));
  fs.lose_unsynced();
  EXPECT_EQ(fs.files(), (std::map<std::string, std::string>{{"kept", "old"}}));
}

TEST(BufferedSinkTest, GathersSmallWrites) {
  MemoryFileSystem memory;
  FaultFileSystem fs(memory);
  BufferedSink sink(*fs.open_write("f"), 10);
  std::string expected;
  for (const std::string piece : {"abc", "defg", "hijk", "0123456789ABC", "", "z"}) {
    ASSERT_TRUE(sink.write(piece));
    expected += piece;
  }
  ASSERT_TRUE(sink.close());
  EXPECT_EQ(*read_file(memory, "f"), expected);
  EXPECT_EQ(fs.operations(), 6);  // open, "abcdefg", "hijk", the long one, "z", close
}

// --- Faults

const std::string kOld(3000, 'o'), kNew(5000, 'n');

enum class Fault { kFail, kFullDisk, kCrash, kPowerLoss };

// Replaces a file with a fault at operation `nth`; checks that the file is old or new afterwards.
// False when the fault came too late to matter.
bool replace_with_fault(Fault fault, int64_t nth) {
  MemoryFileSystem memory;
  memory.put("dir/f", kOld);
  FaultFileSystem fs(memory);
  switch (fault) {
    case Fault::kFail: fs.fail_at(nth); break;
    case Fault::kFullDisk: fs.fill_disk_at(nth); break;
    case Fault::kCrash:
    case Fault::kPowerLoss: fs.crash_at(nth); break;
  }
  const auto result = write_file_atomic(fs, "dir/f", kNew);
  if (fault == Fault::kPowerLoss) memory.lose_unsynced();
  const auto files = memory.files();
  const std::string& content = files.at("dir/f");
  EXPECT_TRUE(content == kOld || content == kNew) << "operation " << nth;
  if (result) {
    EXPECT_EQ(content, kNew);
  }
  if (fault == Fault::kFail || fault == Fault::kFullDisk) {
    EXPECT_EQ(files.size(), 1u) << "a temporary file was left, operation " << nth;
  }
  const auto found = glob_files(memory, "dir/*");  // never the temporary file
  EXPECT_EQ(*found, std::vector<std::string>{"dir/f"});
  return !result.has_value();
}

TEST(Faults, AtomicWriteLeavesOldOrNew) {
  for (const Fault fault : {Fault::kFail, Fault::kFullDisk, Fault::kCrash, Fault::kPowerLoss}) {
    int64_t failures = 0;
    for (int64_t nth = 1; nth <= 8; ++nth) failures += replace_with_fault(fault, nth) ? 1 : 0;
    EXPECT_EQ(failures, fault == Fault::kFullDisk ? 2 : 4);  // open, write, close, rename
  }
}

TEST(Faults, OnePowerCutAfterTheRenameKeepsTheNewFile) {
  MemoryFileSystem memory;
  memory.put("f", kOld);
  ASSERT_TRUE(write_file_atomic(memory, "f", kNew));
  memory.lose_unsynced();
  EXPECT_EQ(*read_file(memory, "f"), kNew);
}

TEST(Faults, FailuresCountAndMessages) {
  MemoryFileSystem memory;
  FaultFileSystem fs(memory);
  fs.fill_disk_at(2);
  auto sink = *fs.open_write("f");
  const auto full = sink->write("abcdef");
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, Code::kResourceExhausted);
  EXPECT_EQ(*read_file(memory, "f"), "abc");

  fs.reset();
  fs.crash_at(1);
  EXPECT_TRUE(fs.exists("f"));
  EXPECT_FALSE(fs.make_directories("d"));
  EXPECT_FALSE(fs.exists("f"));
  EXPECT_FALSE(read_file(fs, "f"));

  fs.reset();
  fs.fail_read_at(1);
  const auto read = read_file(fs, "f");
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().to_string().find("cannot read f"), std::string::npos);
  EXPECT_TRUE(read_file(fs, "f"));

  fs.reset();
  fs.fail_at(2, Error{Code::kPermissionDenied, "no", {}, {}});
  ASSERT_TRUE(fs.make_directories("d"));
  EXPECT_EQ(fs.remove("f").error().code, Code::kPermissionDenied);
  ASSERT_TRUE(fs.remove("f"));
  EXPECT_EQ(fs.operations(), 3);
}

}  // namespace
}  // namespace headwater
