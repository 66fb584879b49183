// The records of a set of shards, checked once, then read block by block in any order.
//
// Opening reads every shard through: framing, both checksums, and a check of the content given by
// the caller; so that damage is found before training, and so that the number of good records, on
// which the order of a run rests, is known. Kept are the places of blocks (some hundred records
// that stand together), not of records. Compressed shards are held unpacked in memory, within a
// limit.
//
// Not here: order (record_order.h), what a record means.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "io/file.h"
#include "records/record_file.h"

namespace headwater {

struct RecordSetOptions {
  DamagePolicy policy = DamagePolicy::kStop;
  int64_t memory_limit = int64_t{4} << 30;  // for compressed shards, unpacked, all together
  int64_t max_record_bytes = int64_t{64} << 20;
  // The size of a record in the caller's measure (tokens); an error is damage of the record. Called
  // from several threads.
  std::function<Result<int64_t>(std::string_view payload)> check;
  // Keeps the sizes of single records: for read_record() and record_tokens(). 8 bytes a record.
  bool keep_sizes = false;
  // Set: files are lines, plain or compressed, each of which becomes the record that this returns;
  // empty lines are none. The records are held in memory, within memory_limit. Called from several
  // threads.
  std::function<Result<std::string>(std::string_view line)> line_to_record;
  // A file that keeps what opening finds out, so that unchanged shards (by path, size and time of
  // modification) need not be read again; made and renewed here, where its folder exists, else by
  // write_cache(). Empty: none. `check_name` says all
  // that `check` depends on: with another one, nothing in the file counts. Shards that are
  // compressed, lines or damaged are read in any case.
  std::string cache_file, check_name;
};

struct RecordShard {
  std::string path;
  int64_t bytes = 0;      // of the file
  int64_t modified = 0;   // FileInfo::modified
  int64_t records = 0;    // good ones
  uint32_t checksum = 0;  // as RecordWriter::checksum, of the good records
  int64_t damaged = 0;    // passed over, by policy
  int64_t tokens = 0;     // by RecordSetOptions::check
  std::string unpacked;   // framed records of a compressed shard, or of lines; else empty
};

// Good records that stand together in a shard.
struct RecordBlock {
  int32_t shard = 0;
  int32_t records = 0;
  int64_t offset = 0, bytes = 0;  // in the file, or in RecordShard::unpacked
  int64_t first_record = 0;       // its number in the file
  int64_t tokens = 0;
};

// A payload and where it stands.
struct RecordPlace {
  int32_t shard = 0;
  int64_t record = 0;
};

struct RecordSize {
  uint32_t bytes, tokens;  // of a payload
};

// What opening finds out about one shard.
struct ScannedShard {
  RecordShard shard;
  std::vector<RecordBlock> blocks;  // in the order of offsets
  std::vector<RecordSize> sizes;    // with keep_sizes: of all records in order
};

class RecordSet {
 public:
  static constexpr int32_t kBlockRecords = 256;
  static constexpr int64_t kBlockBytes = int64_t{256} << 10;

  // Files, folders (their *.tfrecord*) or shell patterns, comma-separated. No record at all is an
  // error.
  static Result<std::shared_ptr<const RecordSet>> open(FileSystem& fs, const std::string& patterns,
                                                       const RecordSetOptions& options);

  int64_t records() const { return records_; }
  int64_t damaged() const { return damaged_; }
  int64_t tokens() const { return tokens_; }
  bool keeps_sizes() const { return !sizes_.empty(); }
  const std::vector<RecordShard>& shards() const { return shards_; }
  const std::vector<RecordBlock>& blocks() const { return blocks_; }

  // Calls visit(i, payload) for record i of [0, block.records).
  using Visit = std::function<Result<>(int32_t i, std::string_view payload)>;
  Result<> read_block(const RecordBlock& block, const Visit& visit) const;

  // Open files and memory of a reader of single records; of one thread.
  struct Scratch {
    std::string bytes;
    std::map<int32_t, std::unique_ptr<RandomAccessFile>> files;  // by shard, a few at a time
  };
  // Record i of block `block`, with keep_sizes; the payload lasts until the next call.
  Result<std::string_view> read_record(int32_t block, int32_t i, Scratch& scratch) const;
  int64_t record_tokens(int32_t block, int32_t i) const {  // with keep_sizes
    return sizes_[first_size(block) + static_cast<size_t>(i)].tokens;
  }

  // Writes RecordSetOptions::cache_file, where its folder exists: a run that fails before it begins
  // leaves nothing behind. That it cannot be written costs time, not the run: a warning.
  void write_cache() const;

  // "records/a.tfrecord: record 3 (counted from 0)", for messages.
  std::string where(RecordPlace place) const;
  // Name, bytes, records and checksum of every shard.
  Json fingerprint() const;

 private:
  RecordSet(FileSystem& fs, const RecordSetOptions& options) : fs_(&fs), options_(options) {}
  size_t first_size(int32_t block) const {
    return static_cast<size_t>(first_sizes_[static_cast<size_t>(block)]);
  }
  // The payload of the record at the front of `bytes`, both checksums checked.
  Result<std::string_view> decode(std::string_view bytes, RecordPlace place) const;

  FileSystem* fs_;
  RecordSetOptions options_;
  std::vector<RecordShard> shards_;
  std::vector<RecordBlock> blocks_;   // in the order of shards and offsets
  std::vector<RecordSize> sizes_;     // with keep_sizes: of all records in order
  std::vector<int64_t> first_sizes_;  // of each block
  int64_t records_ = 0, damaged_ = 0, tokens_ = 0;
};

// "a.tfrecord: records 3, 7-9; b.tfrecord: record 0", for messages.
std::string describe_places(const RecordSet& set, std::vector<RecordPlace> places);

}  // namespace headwater
