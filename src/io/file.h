// Files behind one interface: local files, memory and a fault-injecting wrapper for tests (gs://
// comes later).
//
// A FileSystem is a seam of the design: everything that reads or writes user data takes one, so
// that a test can make any single write, sync or rename fail. Paths are plain UTF-8 strings. Every
// FileSystem may be used from several threads; a source or a sink belongs to one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace headwater {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Fills `out` from the front; returns the number of bytes, 0 only at the end (or for an empty
  // `out`).
  virtual Result<size_t> read(std::span<uint8_t> out) = 0;
};

// Reads at any offset; may be shared by threads.
class RandomAccessFile {
 public:
  virtual ~RandomAccessFile() = default;
  // Fills `out` with the bytes from `offset` on; returns fewer only where the file ends.
  virtual Result<size_t> read_at(int64_t offset, std::span<uint8_t> out) const = 0;
};

// The bytes of a whole file, valid as long as a copy of this lives. Where a file is mapped, only
// the pages that are looked at are read, and a file that another process shortens meanwhile ends
// this one (SIGBUS), as with any mapping.
class FileBytes {
 public:
  FileBytes() = default;
  FileBytes(std::span<const uint8_t> bytes, std::shared_ptr<const void> owner)
      : bytes_(bytes), owner_(std::move(owner)) {}
  std::span<const uint8_t> bytes() const { return bytes_; }
  std::string_view text() const {
    return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
  }
  int64_t size() const { return static_cast<int64_t>(bytes_.size()); }

 private:
  std::span<const uint8_t> bytes_;
  std::shared_ptr<const void> owner_;
};

// Unbuffered: what write() took is visible to readers of the file. Writers of many small pieces put
// a BufferedSink (io/buffered_sink.h) in front; AtomicFile has one.
class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual Result<> write(std::span<const uint8_t> data) = 0;
  Result<> write(std::string_view text) {
    return write(std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size()));
  }
  // Flushes to the device (fsync) and closes; a second call does nothing. A sink that is destroyed
  // unclosed leaves what was written so far.
  virtual Result<> close() = 0;
};

struct FileInfo {
  std::string path;
  int64_t size = 0;  // bytes
  bool is_directory = false;
  int64_t modified = 0;  // when: a number that grows, nanoseconds on disks; 0: not known
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;
  virtual Result<std::unique_ptr<ByteSource>> open_read(const std::string& path) = 0;
  virtual Result<std::unique_ptr<RandomAccessFile>> open_random(const std::string& path) = 0;
  virtual Result<FileBytes> map(const std::string& path) = 0;  // mapped where the system can
  virtual Result<std::unique_ptr<ByteSink>> open_write(const std::string& path) = 0;  // truncates
  virtual Result<FileInfo> info(const std::string& path) = 0;
  virtual Result<std::vector<FileInfo>> list(
      const std::string& directory) = 0;                           // sorted by path, not recursive
  virtual Result<> make_directories(const std::string& path) = 0;  // and the parents; may exist
  virtual Result<> rename(const std::string& from,
                          const std::string& to) = 0;    // replaces a file; syncs the folder
  virtual Result<> remove(const std::string& path) = 0;  // a file or an empty directory
  bool exists(const std::string& path) { return info(path).has_value(); }
};

FileSystem& local_files();

// Whole small files. `limit` bounds what is read; a larger file is an error that names both sizes.
Result<std::string> read_file(FileSystem& fs, const std::string& path,
                              int64_t limit = int64_t{1} << 30);
// Writes beside the target under a temporary name, syncs, renames: the old or the new content,
// never neither. The temporary name starts with a dot, so that no pattern of glob_files takes what
// a crash left behind.
Result<> write_file_atomic(FileSystem& fs, const std::string& path, std::string_view content);

// A growing file that appears under its final name only on commit(). `fs` must outlive it.
class AtomicFile {
 public:
  static Result<AtomicFile> create(FileSystem& fs, std::string path);
  AtomicFile(AtomicFile&&) noexcept;
  AtomicFile& operator=(AtomicFile&&) noexcept;
  ~AtomicFile();  // without commit(): removes the temporary file
  ByteSink& sink() { return *sink_; }
  Result<> commit();

 private:
  AtomicFile() = default;
  void discard();
  FileSystem* fs_ = nullptr;
  std::string path_, temporary_;
  std::unique_ptr<ByteSink> sink_;
};

// Splits at the commas outside of [..]; no part is empty.
std::vector<std::string> split_patterns(std::string_view patterns);

// Shell patterns (* ? [..]; comma-separated lists) to sorted existing files, each once. Wildcards
// do not match a leading dot, as in a shell; folders are left out. A pattern without a match is
// kNotFound and named.
Result<std::vector<std::string>> glob_files(FileSystem& fs, std::string_view patterns);

// Reads .gz, .zst and .xz (by magic bytes, not by name) transparently; anything else as it is. Data
// that ends early or is damaged is kDataLoss naming the file, after all that could be read.
Result<std::unique_ptr<ByteSource>> open_decompressed(FileSystem& fs, const std::string& path);

std::string join_path(std::string_view directory, std::string_view name);
std::string base_name(std::string_view path);
std::string directory_name(std::string_view path);  // "." when the path has no slash

}  // namespace headwater
