// A FileSystem for tests that passes everything on to another one until a fault is due: a single
// failure, a full disk, or a crash.
//
// Mutating operations are counted from 1: open_write, every write, every close (the sync),
// make_directories, rename and remove. A test runs its work once to learn operations(), then once
// per operation with a fault there.
#pragma once

#include <mutex>
#include <optional>

#include "io/file.h"

namespace headwater {

class FaultFileSystem : public FileSystem {
 public:
  // `base` must outlive this, and this every source and sink it opened.
  explicit FaultFileSystem(FileSystem& base) : base_(base) {}

  // The nth mutating operation counted from the construction or reset() does nothing but fail.
  void fail_at(int64_t nth, Error error);
  void fail_at(int64_t nth);  // with "input/output error"
  // From the nth operation on the disk is full: a write stores its first half and fails.
  void fill_disk_at(int64_t nth);
  // The process dies in the nth operation: a write stores its first half, anything else nothing,
  // and every later call fails, reads too. What is left is seen through `base`.
  void crash_at(int64_t nth);
  // The nth read (of a source or a random access file, or a mapping) fails.
  void fail_read_at(int64_t nth);
  // Forgets faults and counts.
  void reset();

  int64_t operations() const;
  int64_t reads() const;

  Result<std::unique_ptr<ByteSource>> open_read(const std::string& path) override;
  Result<std::unique_ptr<RandomAccessFile>> open_random(const std::string& path) override;
  Result<FileBytes> map(const std::string& path) override;
  Result<std::unique_ptr<ByteSink>> open_write(const std::string& path) override;
  Result<FileInfo> info(const std::string& path) override;
  Result<std::vector<FileInfo>> list(const std::string& directory) override;
  Result<> make_directories(const std::string& path) override;
  Result<> rename(const std::string& from, const std::string& to) override;
  Result<> remove(const std::string& path) override;

 private:
  enum class Kind { kNone, kFail, kFullDisk, kCrash };
  class Source;
  class Random;
  class Sink;
  void arm(Kind kind, int64_t nth, Error error);
  // Counts one operation; the error if it is to fail. `half` says that a write stores its first
  // half.
  std::optional<Error> count_operation(bool is_write, bool* half = nullptr);
  Result<> count_read(std::string_view path);
  Result<> check_alive() const;

  FileSystem& base_;
  mutable std::mutex mutex_;  // over all members below
  Kind kind_ = Kind::kNone;
  Error error_;
  int64_t due_ = 0, read_due_ = 0, operations_ = 0, reads_ = 0;
};

}  // namespace headwater
