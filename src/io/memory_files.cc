#include "io/memory_files.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <optional>

namespace headwater {
namespace {

// "./a//b/" -> "a/b".
std::string normal_path(std::string_view path) {
  std::string normal = path.starts_with('/') ? "/" : "";
  for (size_t start = 0; start < path.size();) {
    const size_t end = std::min(path.find('/', start), path.size());
    const std::string_view part = path.substr(start, end - start);
    if (!part.empty() && part != ".") normal = join_path(normal, part);
    start = end + 1;
  }
  return normal.empty() && !path.empty() ? "." : normal;
}

tl::unexpected<Error> failure(int error_number, std::string_view what, std::string_view path) {
  return tl::unexpected<Error>(system_error(error_number, what, path));
}

size_t copy_bytes(const std::string& content, size_t offset, std::span<uint8_t> out) {
  if (offset >= content.size()) return 0;
  const size_t n = std::min(out.size(), content.size() - offset);
  std::copy_n(content.begin() + static_cast<std::ptrdiff_t>(offset), n, out.begin());
  return n;
}

}  // namespace

struct MemoryFileSystem::File {
  std::string content;
  std::optional<std::string> synced;
  int64_t modified = 0;

  static int64_t now() {  // ticks at every change
    static std::atomic<int64_t> clock = 0;
    return ++clock;
  }
};

class MemoryFileSystem::Source : public ByteSource {
 public:
  Source(std::shared_ptr<File> file, std::mutex& mutex) : file_(std::move(file)), mutex_(mutex) {}
  Result<size_t> read(std::span<uint8_t> out) override {
    const std::scoped_lock lock(mutex_);
    const size_t n = copy_bytes(file_->content, position_, out);
    position_ += n;
    return n;
  }

 private:
  std::shared_ptr<File> file_;
  std::mutex& mutex_;
  size_t position_ = 0;
};

class MemoryFileSystem::Random : public RandomAccessFile {
 public:
  Random(std::shared_ptr<File> file, std::mutex& mutex) : file_(std::move(file)), mutex_(mutex) {}
  Result<size_t> read_at(int64_t offset, std::span<uint8_t> out) const override {
    const std::scoped_lock lock(mutex_);
    return copy_bytes(file_->content, static_cast<size_t>(std::max<int64_t>(0, offset)), out);
  }

 private:
  std::shared_ptr<File> file_;
  std::mutex& mutex_;
};

class MemoryFileSystem::Sink : public ByteSink {
 public:
  Sink(std::shared_ptr<File> file, std::mutex& mutex) : file_(std::move(file)), mutex_(mutex) {}
  Result<> write(std::span<const uint8_t> data) override {
    const std::scoped_lock lock(mutex_);
    file_->content.append(data.begin(), data.end());
    file_->modified = File::now();
    return {};
  }
  Result<> close() override {
    const std::scoped_lock lock(mutex_);
    file_->synced = file_->content;
    return {};
  }

 private:
  std::shared_ptr<File> file_;
  std::mutex& mutex_;
};

bool MemoryFileSystem::is_directory(const std::string& path) const {
  return path == "." || path == "/" || directories_.contains(path);
}

Result<std::shared_ptr<MemoryFileSystem::File>> MemoryFileSystem::find(
    const std::string& path) const {
  const std::string normal = normal_path(path);
  if (is_directory(normal)) {
    return fail(Code::kInvalidArgument, "cannot read {}: it is a directory", path);
  }
  const auto it = files_.find(normal);
  if (it == files_.end()) return failure(ENOENT, "read", path);
  return it->second;
}

Result<std::unique_ptr<ByteSource>> MemoryFileSystem::open_read(const std::string& path) {
  const std::scoped_lock lock(mutex_);
  HW_ASSIGN_OR_RETURN(auto file, find(path));
  return std::make_unique<Source>(std::move(file), mutex_);
}

Result<std::unique_ptr<RandomAccessFile>> MemoryFileSystem::open_random(const std::string& path) {
  const std::scoped_lock lock(mutex_);
  HW_ASSIGN_OR_RETURN(auto file, find(path));
  return std::make_unique<Random>(std::move(file), mutex_);
}

Result<FileBytes> MemoryFileSystem::map(const std::string& path) {
  const std::scoped_lock lock(mutex_);
  HW_ASSIGN_OR_RETURN(const auto file, find(path));
  // A copy of its exact size: the file may grow, and the address sanitizer sees an overrun.
  const auto copy =
      std::make_shared<const std::vector<uint8_t>>(file->content.begin(), file->content.end());
  return FileBytes(*copy, copy);
}

Result<std::unique_ptr<ByteSink>> MemoryFileSystem::open_write(const std::string& path) {
  const std::scoped_lock lock(mutex_);
  const std::string normal = normal_path(path);
  if (is_directory(normal)) return failure(EISDIR, "write", path);
  if (!is_directory(directory_name(normal))) return failure(ENOENT, "write", path);
  std::shared_ptr<File>& file = files_[normal];
  if (!file) file = std::make_shared<File>();
  file->modified = File::now();
  file->content.clear();
  return std::make_unique<Sink>(file, mutex_);
}

Result<FileInfo> MemoryFileSystem::info(const std::string& path) {
  const std::scoped_lock lock(mutex_);
  const std::string normal = normal_path(path);
  if (is_directory(normal)) return FileInfo{path, 0, true};
  HW_ASSIGN_OR_RETURN(const auto file, find(path));
  return FileInfo{path, static_cast<int64_t>(file->content.size()), false, file->modified};
}

Result<std::vector<FileInfo>> MemoryFileSystem::list(const std::string& directory) {
  const std::scoped_lock lock(mutex_);
  const std::string normal = normal_path(directory);
  if (!is_directory(normal)) {
    return failure(files_.contains(normal) ? ENOTDIR : ENOENT, "list", directory);
  }
  std::vector<FileInfo> entries;
  for (const auto& [path, file] : files_) {
    if (directory_name(path) != normal) continue;
    entries.push_back(
        {join_path(directory, base_name(path)), static_cast<int64_t>(file->content.size()), false});
  }
  for (const std::string& path : directories_) {
    if (directory_name(path) != normal) continue;
    entries.push_back({join_path(directory, base_name(path)), 0, true});
  }
  std::sort(entries.begin(), entries.end(),
            [](const FileInfo& a, const FileInfo& b) { return a.path < b.path; });
  return entries;
}

Result<> MemoryFileSystem::make_directories(const std::string& path) {
  const std::scoped_lock lock(mutex_);
  for (std::string folder = normal_path(path); folder != "." && folder != "/";
       folder = directory_name(folder)) {
    if (files_.contains(folder)) return failure(EEXIST, "create directory", path);
    directories_.insert(folder);
  }
  return {};
}

Result<> MemoryFileSystem::rename(const std::string& from, const std::string& to) {
  const std::scoped_lock lock(mutex_);
  const std::string source = normal_path(from), target = normal_path(to);
  const std::string what = fmt::format("rename {} to", from);
  if (!is_directory(directory_name(target))) return failure(ENOENT, what, to);
  if (const auto it = files_.find(source); it != files_.end()) {
    if (is_directory(target)) return failure(EISDIR, what, to);
    std::shared_ptr<File> file = it->second;
    files_.erase(it);
    files_[target] = std::move(file);
    return {};
  }
  if (!directories_.contains(source)) return failure(ENOENT, what, to);
  const auto occupied = [&](const auto& name) { return name.starts_with(target + "/"); };
  if (files_.contains(target)) return failure(ENOTDIR, what, to);
  if (std::any_of(directories_.begin(), directories_.end(), occupied) ||
      std::any_of(files_.begin(), files_.end(), [&](const auto& f) { return occupied(f.first); })) {
    return failure(ENOTEMPTY, what, to);
  }
  const auto moved = [&](const std::string& name) -> std::optional<std::string> {
    if (name != source && !name.starts_with(source + "/")) return std::nullopt;
    return target + name.substr(source.size());
  };
  std::map<std::string, std::shared_ptr<File>> files;
  for (auto& [name, file] : files_) files[moved(name).value_or(name)] = std::move(file);
  std::set<std::string> directories;
  for (const std::string& name : directories_) directories.insert(moved(name).value_or(name));
  files_ = std::move(files);
  directories_ = std::move(directories);
  return {};
}

Result<> MemoryFileSystem::remove(const std::string& path) {
  const std::scoped_lock lock(mutex_);
  const std::string normal = normal_path(path);
  if (files_.erase(normal) > 0) return {};
  if (!directories_.contains(normal)) return failure(ENOENT, "remove", path);
  const auto inside = [&](const auto& name) { return name.starts_with(normal + "/"); };
  if (std::any_of(directories_.begin(), directories_.end(), inside) ||
      std::any_of(files_.begin(), files_.end(), [&](const auto& f) { return inside(f.first); })) {
    return failure(ENOTEMPTY, "remove", path);
  }
  directories_.erase(normal);
  return {};
}

void MemoryFileSystem::put(const std::string& path, std::string content) {
  (void)make_directories(directory_name(normal_path(path)));
  const std::scoped_lock lock(mutex_);
  files_[normal_path(path)] = std::make_shared<File>(File{content, content, File::now()});
}

void MemoryFileSystem::lose_unsynced() {
  const std::scoped_lock lock(mutex_);
  std::erase_if(files_, [](const auto& entry) { return !entry.second->synced.has_value(); });
  for (const auto& [path, file] : files_) file->content = *file->synced;
}

std::map<std::string, std::string> MemoryFileSystem::files() const {
  const std::scoped_lock lock(mutex_);
  std::map<std::string, std::string> all;
  for (const auto& [path, file] : files_) all[path] = file->content;
  return all;
}

}  // namespace headwater
