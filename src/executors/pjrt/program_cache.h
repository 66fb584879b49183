// Compiled programs on disk, so that the second start of a run does not compile.
//
// An entry is known by a digest of everything that it depends on (program_key). Its file holds a
// digest of its bytes: a damaged one is as good as none. The oldest files go when all of them are
// larger than the limit. A folder that cannot be written costs time, never a run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "executors/pjrt/client.h"
#include "io/file.h"

namespace headwater::pjrt {

class ProgramCache {
 public:
  static constexpr int64_t kMaxBytes = int64_t{4} << 30;

  // An empty folder: nothing is kept.
  ProgramCache(FileSystem& fs, std::string folder, int64_t max_bytes = kMaxBytes)
      : fs_(fs), folder_(std::move(folder)), max_bytes_(max_bytes) {}

  std::optional<std::string> find(const std::string& key) const;
  Result<> keep(const std::string& key, std::string_view bytes) const;

 private:
  std::string path(const std::string& key) const { return join_path(folder_, key + ".xla"); }
  Result<> drop_oldest() const;

  FileSystem& fs_;
  std::string folder_;
  int64_t max_bytes_;
};

// $XDG_CACHE_HOME/headwater/xla or ~/.cache/headwater/xla; empty where neither is known.
std::string default_cache_folder();

// Digest of a program's text, its options, the plugin's file and versions, the devices, and this
// machine's processor, for which a plugin may make code.
std::string program_key(const Client& client, std::string_view text, std::string_view options);

// From the cache, else compiled and kept.
Result<LoadedExecutable> compile_cached(const Client& client, const ProgramCache& cache,
                                        std::string_view text, const CompileOptions& options);

}  // namespace headwater::pjrt
