#include "executors/pjrt/program_cache.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "base/digest.h"
#include "base/log.h"

namespace headwater::pjrt {
namespace {

constexpr std::string_view kMagic = "headwater xla 1 ";  // then the digest of the bytes, a line
constexpr size_t kHeader = kMagic.size() + 64 + 1;

// Model and features of the first processor, as the kernel lists them.
std::string processor_text() {
  const auto text = read_file(local_files(), "/proc/cpuinfo");
  if (!text) return "";
  std::string facts;
  for (const std::string_view name : {"model name", "stepping", "flags"}) {
    const size_t begin = text->find(name);
    if (begin == std::string::npos) continue;
    facts += text->substr(begin, text->find('\n', begin) - begin) + "\n";
  }
  return facts;
}

}  // namespace

std::optional<std::string> ProgramCache::find(const std::string& key) const {
  if (folder_.empty()) return std::nullopt;
  auto file = read_file(fs_, path(key), max_bytes_);
  if (!file || file->size() < kHeader || !file->starts_with(kMagic)) return std::nullopt;
  std::string bytes = file->substr(kHeader);
  if (sha256_hex(bytes) != std::string_view(*file).substr(kMagic.size(), 64)) return std::nullopt;
  return bytes;
}

Result<> ProgramCache::keep(const std::string& key, std::string_view bytes) const {
  if (folder_.empty() || static_cast<int64_t>(bytes.size()) > max_bytes_) return {};
  HW_RETURN_IF_ERROR(fs_.make_directories(folder_));
  HW_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(fs_, path(key)));
  HW_RETURN_IF_ERROR(file.sink().write(fmt::format("{}{}\n", kMagic, sha256_hex(bytes))));
  HW_RETURN_IF_ERROR(file.sink().write(bytes));
  HW_RETURN_IF_ERROR(file.commit());
  return drop_oldest();
}

Result<> ProgramCache::drop_oldest() const {
  HW_ASSIGN_OR_RETURN(std::vector<FileInfo> files, fs_.list(folder_));
  std::erase_if(files, [](const FileInfo& file) { return !file.path.ends_with(".xla"); });
  std::stable_sort(files.begin(), files.end(), [](const FileInfo& a, const FileInfo& b) {
    return a.modified > b.modified;  // the newest first: they stay
  });
  int64_t total = 0;
  for (const FileInfo& file : files) {
    total += file.size;
    if (total <= max_bytes_) continue;
    const Result<> removed = fs_.remove(file.path);
    // Another process may have been faster.
    if (!removed && removed.error().code != Code::kNotFound) return removed;
  }
  return {};
}

std::string default_cache_folder() {
  if (const char* const cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/') {
    return join_path(cache, "headwater/xla");
  }
  if (const char* const home = std::getenv("HOME"); home != nullptr && *home == '/') {
    return join_path(home, ".cache/headwater/xla");
  }
  return "";
}

std::string program_key(const Client& client, std::string_view text, std::string_view options) {
  const Plugin& plugin = client.plugin();
  const auto file = local_files().info(plugin.path());
  Sha256 hash;
  const auto add = [&](std::string_view part) {  // with its length: parts cannot be confused
    hash.update(fmt::format("{}\n", part.size()));
    hash.update(part);
  };
  add(text);
  add(options);
  add(base_name(plugin.path()));
  add(fmt::format("{} {}", file ? file->size : 0, file ? file->modified : 0));
  add(plugin.api_version());
  add(client.platform());
  add(client.platform_version());
  for (const DeviceInfo& device : client.devices()) add(device.kind);
  add(processor_text());
  return hash.hex();
}

Result<LoadedExecutable> compile_cached(const Client& client, const ProgramCache& cache,
                                        std::string_view text, const CompileOptions& options) {
  HW_ASSIGN_OR_RETURN(const std::string encoded, options.encode());
  const std::string key = program_key(client, text, encoded);
  if (const auto bytes = cache.find(key)) {
    if (auto loaded = client.load(*bytes)) return loaded;
  }
  const auto start = std::chrono::steady_clock::now();
  HW_ASSIGN_OR_RETURN(LoadedExecutable compiled, client.compile(text, options));
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  if (taken.count() > 5) log_info("compiled for {} in {:.0f} s", client.platform(), taken.count());
  // Some plugins cannot serialize: they compile every time.
  if (const auto bytes = compiled.executable().serialize()) {
    if (const auto kept = cache.keep(key, *bytes); !kept) {
      log_warning("compiled programs are not kept: {}", kept.error().to_string());
    }
  }
  return compiled;
}

}  // namespace headwater::pjrt
