// Checks record files: every checksum, every length, and the manifest of the build that made them.
//
// All damage is listed, not the first only: behind a damaged record the search for the next good
// one goes on. A file that was cut between two records looks whole; only the manifest, which knows
// how many records there were, can tell.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "records/record_file.h"
#include "records/record_files.h"

namespace headwater {

struct FoundDamage {
  RecordDamage damage;
  std::string message;  // without the file's name
};

struct FileCheck {
  static constexpr size_t kListedDamages = 1000;

  FileInfo file;
  Compression compression = Compression::kNone;
  int64_t records = 0;    // good ones
  int64_t damages = 0;    // the first kListedDamages of them are listed
  uint32_t checksum = 0;  // RecordWriter::checksum of the good records
  std::vector<FoundDamage> listed;
  std::optional<Error> failure;   // the file could not be read (to its end)
  std::string manifest_conflict;  // what the manifest says otherwise; empty when nothing

  bool good() const { return damages == 0 && !failure && manifest_conflict.empty(); }
};

struct VerifyReport {
  std::vector<FileCheck> files;
  std::vector<std::string> missing;  // paths that a manifest beside the files names
  int64_t manifests = 0;             // that were compared with

  int64_t records() const;
  int64_t bytes() const;
  int64_t damages() const;
  int64_t bad_files() const;
  bool good() const { return bad_files() == 0 && missing.empty(); }
};

VerifyReport verify_records(FileSystem& fs, const std::vector<FileInfo>& files,
                            RecordReaderOptions options = {});

// Everything bad, a line each; for the terminal.
std::vector<std::string> describe_damage(const VerifyReport& report);
Json to_json(const VerifyReport& report);

}  // namespace headwater
