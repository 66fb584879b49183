// The output side of a build: a set of shards and a manifest that appear together, or not at all.
//
// Shards grow under temporary names; commit() gives them their names at the end and writes the
// manifest last, so that a build that dies leaves no half shard under a final name, and a manifest
// only beside a whole set. A folder is never deleted: what is already there is an error, or, with
// `overwrite`, exactly the shards and the manifest of an earlier build are replaced.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "io/file.h"
#include "records/record_file.h"
#include "records/record_files.h"

namespace headwater {

struct ShardInfo {
  std::string name;  // "pretrain_data.tfrecord-<i>-of-<n>", as google's builder names them
  int64_t records = 0, bytes = 0;
  uint32_t checksum = 0;  // RecordWriter::checksum
};

class ShardSet {
 public:
  static constexpr std::string_view kStem = "pretrain_data.tfrecord";

  static Result<ShardSet> create(FileSystem& fs, std::string directory, int64_t shards,
                                 bool overwrite);
  ShardSet(ShardSet&&) noexcept;
  ShardSet& operator=(ShardSet&&) = delete;
  ~ShardSet();  // without commit(): removes what was written, and the folder if create() made it

  // Records go to the shards in turn: record n to shard n % shards.
  Result<> write(std::string_view payload);
  int64_t records() const { return records_; }

  // Everything written so far is on the disk, still without final names.
  Result<> close();
  std::vector<ShardInfo> shards() const;
  // After close(). `manifest` becomes kRecordsManifest.
  Result<> commit(const Json& manifest);

 private:
  struct Shard {
    Shard(std::string shard_name, AtomicFile atomic)
        : name(std::move(shard_name)), file(std::move(atomic)), writer(file.sink()) {}
    std::string name;
    AtomicFile file;
    RecordWriter writer;
  };
  ShardSet(FileSystem& fs, std::string directory) : fs_(&fs), directory_(std::move(directory)) {}
  Result<> check_directory(bool overwrite);
  Result<> remove_earlier();
  std::string path_of(std::string_view name) const { return join_path(directory_, name); }

  FileSystem* fs_;
  std::string directory_;
  std::deque<Shard> shards_;          // a deque: a writer points at the sink beside it
  std::vector<std::string> earlier_;  // files of an earlier build, to be replaced
  int64_t records_ = 0;
  bool made_directory_ = false, committed_ = false;
};

}  // namespace headwater
