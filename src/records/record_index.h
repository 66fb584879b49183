// Random access to the records of a file: an index of where they are, and reading the ith one.
//
// Separate from record_file.h because an index is small and kept for every shard, while only some
// shards are open. Compressed files have no random access: their index is made by reading them
// through, and RandomRecordReader holds them unpacked in memory, within a limit.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "records/record_file.h"

namespace headwater {

struct RecordSpan {
  int64_t offset = 0;  // of the header, in the uncompressed data
  int64_t length = 0;  // of the payload
};

struct RecordIndex {
  std::string path;
  Compression compression = Compression::kNone;
  int64_t unpacked_bytes = 0;  // the file's size when it is not compressed
  std::vector<RecordSpan> records;
  int64_t damages_skipped = 0;  // with a policy that skips
};

// Reads headers only (of a compressed file: everything). Length checksums and truncation are
// checked here, payload checksums when a record is read.
Result<RecordIndex> index_records(FileSystem& fs, const std::string& path,
                                  RecordReaderOptions options = {});

class RandomRecordReader {
 public:
  // Unpacks a compressed file into memory; one that would need more than `memory_limit` bytes is an
  // error.
  static Result<RandomRecordReader> open(FileSystem& fs, RecordIndex index,
                                         int64_t memory_limit = int64_t{1} << 30);

  int64_t size() const { return static_cast<int64_t>(index_.records.size()); }
  const RecordIndex& index() const { return index_; }
  bool in_memory() const { return index_.compression != Compression::kNone; }
  // Record i of [0, size()), its checksums checked. May be called from several threads.
  Result<> read(int64_t i, std::string& payload) const;
  // "record 3 (counted from 0) at byte 512", for messages about what a record holds.
  std::string where(int64_t i) const;

 private:
  RandomRecordReader(std::unique_ptr<RandomAccessFile> file, RecordIndex index)
      : file_(std::move(file)), index_(std::move(index)) {}
  std::unique_ptr<RandomAccessFile> file_;
  RecordIndex index_;
};

}  // namespace headwater
