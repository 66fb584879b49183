// Sets of record files: which files a person means, and work over all of them on all threads with
// one progress line.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "io/file.h"

namespace headwater {

// What `records build` leaves beside its shards.
constexpr std::string_view kRecordsManifest = "manifest.json";
constexpr int64_t kRecordsManifestLimit = int64_t{64} << 20;  // bytes

// Each path is a file, a pattern, or a folder, which stands for its files named *.tfrecord*. A
// pattern passes over a manifest: `records/*` means the shards. Sorted, each once. A path without a
// file is an error that names it.
Result<std::vector<FileInfo>> list_record_files(FileSystem& fs, std::span<const std::string> paths);

// Told by the work on a file how far it is, in bytes of the file.
using ByteMeter = std::function<void(int64_t bytes)>;

// Calls work(i, meter) for every file, on the threads of parallel_for. `what` heads the progress
// line.
void for_each_record_file(std::span<const FileInfo> files, std::string what,
                          const std::function<void(size_t i, const ByteMeter& meter)>& work);

}  // namespace headwater
