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
  // An error of `check` is damage of the record. Called from several threads.
  std::function<Result<>(std::string_view payload)> check;
};

struct RecordShard {
  std::string path;
  int64_t bytes = 0;      // of the file
  int64_t records = 0;    // good ones
  uint32_t checksum = 0;  // as RecordWriter::checksum, of the good records
  int64_t damaged = 0;    // passed over, by policy
  std::string unpacked;   // framed records of a compressed shard; else empty
};

// Good records that stand together in a shard.
struct RecordBlock {
  int32_t shard = 0;
  int32_t records = 0;
  int64_t offset = 0, bytes = 0;  // in the file, or in RecordShard::unpacked
  int64_t first_record = 0;       // its number in the file
};

// A payload and where it stands.
struct RecordPlace {
  int32_t shard = 0;
  int64_t record = 0;
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
  const std::vector<RecordShard>& shards() const { return shards_; }
  const std::vector<RecordBlock>& blocks() const { return blocks_; }

  // Calls visit(i, payload) for record i of [0, block.records).
  using Visit = std::function<Result<>(int32_t i, std::string_view payload)>;
  Result<> read_block(const RecordBlock& block, const Visit& visit) const;

  // "records/a.tfrecord: record 3 (counted from 0)", for messages.
  std::string where(RecordPlace place) const;
  // Name, bytes, records and checksum of every shard.
  Json fingerprint() const;

 private:
  explicit RecordSet(FileSystem& fs) : fs_(&fs) {}
  FileSystem* fs_;
  std::vector<RecordShard> shards_;
  std::vector<RecordBlock> blocks_;  // in the order of shards and offsets
  int64_t records_ = 0, damaged_ = 0;
};

}  // namespace headwater
