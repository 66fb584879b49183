#include "records/record_files.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <mutex>

#include "base/progress.h"
#include "base/threads.h"

namespace headwater {

Result<std::vector<FileInfo>> list_record_files(FileSystem& fs,
                                                std::span<const std::string> paths) {
  std::vector<std::string> names;
  for (const std::string& path : paths) {
    const auto found = fs.info(path);
    const bool is_directory = found && found->is_directory;
    auto matches = glob_files(fs, is_directory ? join_path(path, "*.tfrecord*") : path);
    if (!matches && is_directory) {
      return fail_hint(Code::kNotFound, "give the files themselves if they have other names",
                       "no file named *.tfrecord* in directory {}", path);
    }
    if (!matches) return tl::unexpected<Error>(std::move(matches).error());
    if (matches->size() > 1) {
      std::erase_if(*matches, [](const auto& name) { return base_name(name) == kRecordsManifest; });
    }
    std::move(matches->begin(), matches->end(), std::back_inserter(names));
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::vector<FileInfo> files;
  for (const std::string& name : names) {
    HW_ASSIGN_OR_RETURN(FileInfo file, fs.info(name));
    files.push_back(std::move(file));
  }
  return files;
}

void for_each_record_file(std::span<const FileInfo> files, std::string what,
                          const std::function<void(size_t i, const ByteMeter& meter)>& work) {
  int64_t total = 0;
  for (const FileInfo& file : files) total += file.size;
  Progress progress(std::move(what), total, "bytes");
  std::mutex mutex;  // over `progress`
  std::atomic<int64_t> done{0};
  const auto add = [&](int64_t bytes) {
    const int64_t sum = done += bytes;
    if (const std::unique_lock lock(mutex, std::try_to_lock); lock) progress.update(sum);
  };
  parallel_for(static_cast<int64_t>(files.size()), 1, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      int64_t seen = 0;
      const auto advance = [&](int64_t bytes) {
        bytes = std::clamp(bytes, seen, files[i].size);  // offsets in unpacked data run over it
        if (bytes > seen) add(bytes - std::exchange(seen, bytes));
      };
      work(i, advance);
      advance(files[i].size);
    }
  });
}

}  // namespace headwater
