// What opening record files found out, kept in a file: the next start then need not read unchanged
// shards through. A cache is never trusted further than that: payloads are checked again when they
// are read, and anything odd in the file means that shards are scanned anew.
#pragma once

#include <map>
#include <string>

#include "batches/record_set.h"

namespace headwater {

class RecordSetCache {
 public:
  // The cache that the options name; empty when there is none, or not one for these options.
  static RecordSetCache read(FileSystem& fs, const RecordSetOptions& options);

  // Null: the file is not in it, or has changed.
  const ScannedShard* find(const FileInfo& file) const;
  // Shards that must be read in any case are left out.
  void add(ScannedShard scanned);
  // Where its folder exists.
  Result<> write(FileSystem& fs, const RecordSetOptions& options) const;

 private:
  std::map<std::string, ScannedShard> entries_;  // by path
};

}  // namespace headwater
