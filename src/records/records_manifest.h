// The manifest that `records build` leaves beside its shards, as others read it: what the records
// are, and with which tokenizer they were made.
//
// Format: docs/formats/records-manifest.md. Written by records/build_report.h; the list of shards
// is for records/record_verify.h alone.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "io/file.h"
#include "tokens/any_tokenizer.h"

namespace headwater {

struct RecordsManifest {
  std::string path;        // of the manifest
  std::string task;        // electra, gpt, bert, raw
  std::string vocabulary;  // file, as the build was given it
  std::string digest;      // AnyTokenizer::digest()
  int64_t vocab_size = 0;
  TokenizerOptions tokenizer;  // as used
  bool padded = false;         // lists are filled up to one length

  // The manifest in a folder; none when there is none, or that of somebody else.
  static Result<std::optional<RecordsManifest>> read(FileSystem& fs, const std::string& folder);
  // Those beside the files, a folder each.
  static Result<std::vector<RecordsManifest>> beside(FileSystem& fs,
                                                     std::span<const FileInfo> files);

  // An error unless the records were made with the vocabulary of this name and digest.
  Result<> check_vocabulary(const std::string& name, const std::string& digest) const;
  // The tokenizer itself: kNotFound when its file is not where it was, kFailedPrecondition when
  // another stands there.
  Result<AnyTokenizer> open_tokenizer(FileSystem& fs) const;
};

}  // namespace headwater
