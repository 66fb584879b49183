// Files of the local machine by POSIX calls: short writes continued, EINTR retried, folders synced.
#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "io/file.h"

namespace headwater {
namespace {

constexpr size_t kLargestTransfer = size_t{1} << 30;  // Linux moves at most 2 GiB per call

template <class Call>
auto retry(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

tl::unexpected<Error> system_failure(std::string_view what, std::string_view path) {
  return tl::unexpected<Error>(system_error(errno, what, path));
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

// fsync where it means something: pipes, terminals and some network folders refuse it.
bool sync_descriptor(int fd) {
  return retry([&] { return ::fsync(fd); }) == 0 || errno == EINVAL || errno == ENOTSUP ||
         errno == EROFS;
}

Result<> sync_directory(const std::string& path) {
  const Descriptor directory(
      retry([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (directory.get() < 0) {
    if (errno == EACCES) return {};  // a folder that may be written but not read
    return system_failure("open directory", path);
  }
  if (!sync_descriptor(directory.get())) return system_failure("sync directory", path);
  return {};
}

Result<Descriptor> open_existing(const std::string& path) {
  Descriptor file(retry([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); }));
  if (file.get() < 0) return system_failure("read", path);
  struct stat status;
  if (::fstat(file.get(), &status) != 0) return system_failure("read", path);
  if (S_ISDIR(status.st_mode)) {
    return fail(Code::kInvalidArgument, "cannot read {}: it is a directory", path);
  }
  return file;
}

class LocalSource : public ByteSource {
 public:
  LocalSource(Descriptor file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}
  Result<size_t> read(std::span<uint8_t> out) override {
    const size_t wanted = std::min(out.size(), kLargestTransfer);
    const ssize_t n = retry([&] { return ::read(file_.get(), out.data(), wanted); });
    if (n < 0) return system_failure("read", path_);
    return static_cast<size_t>(n);
  }

 private:
  Descriptor file_;
  std::string path_;
};

class LocalRandomFile : public RandomAccessFile {
 public:
  LocalRandomFile(Descriptor file, std::string path)
      : file_(std::move(file)), path_(std::move(path)) {}
  Result<size_t> read_at(int64_t offset, std::span<uint8_t> out) const override {
    size_t filled = 0;
    while (filled < out.size()) {
      const size_t wanted = std::min(out.size() - filled, kLargestTransfer);
      const ssize_t n = retry([&] {
        return ::pread(file_.get(), out.data() + filled, wanted,
                       offset + static_cast<off_t>(filled));
      });
      if (n < 0) return system_failure("read", path_);
      if (n == 0) break;
      filled += static_cast<size_t>(n);
    }
    return filled;
  }

 private:
  Descriptor file_;
  std::string path_;
};

Result<FileBytes> map_file(const std::string& path) {
  HW_ASSIGN_OR_RETURN(const Descriptor file, open_existing(path));
  struct stat status;
  if (::fstat(file.get(), &status) != 0) return system_failure("read", path);
  if (!S_ISREG(status.st_mode)) {
    return fail(Code::kInvalidArgument, "cannot map {}: it is not a regular file", path);
  }
  const auto size = static_cast<size_t>(status.st_size);
  if (size == 0) return FileBytes();
  void* memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (memory == MAP_FAILED) return system_failure("map", path);
  std::shared_ptr<const void> owner(
      memory, [size](const void* mapped) { ::munmap(const_cast<void*>(mapped), size); });
  return FileBytes({static_cast<const uint8_t*>(memory), size}, std::move(owner));
}

class LocalSink : public ByteSink {
 public:
  LocalSink(Descriptor file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}
  Result<> write(std::span<const uint8_t> data) override {
    while (!data.empty()) {
      const size_t wanted = std::min(data.size(), kLargestTransfer);
      const ssize_t n = retry([&] { return ::write(file_.get(), data.data(), wanted); });
      if (n < 0) return system_failure("write", path_);
      data = data.subspan(static_cast<size_t>(n));
    }
    return {};
  }
  Result<> close() override {
    const Descriptor file(file_.release());
    if (file.get() < 0) return {};
    if (!sync_descriptor(file.get())) return system_failure("sync", path_);
    return {};
  }

 private:
  Descriptor file_;
  std::string path_;
};

class LocalFiles : public FileSystem {
 public:
  Result<std::unique_ptr<ByteSource>> open_read(const std::string& path) override {
    HW_ASSIGN_OR_RETURN(Descriptor file, open_existing(path));
    return std::make_unique<LocalSource>(std::move(file), path);
  }
  Result<std::unique_ptr<RandomAccessFile>> open_random(const std::string& path) override {
    HW_ASSIGN_OR_RETURN(Descriptor file, open_existing(path));
    return std::make_unique<LocalRandomFile>(std::move(file), path);
  }
  Result<FileBytes> map(const std::string& path) override { return map_file(path); }
  Result<std::unique_ptr<ByteSink>> open_write(const std::string& path) override {
    Descriptor file(retry(
        [&] { return ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666); }));
    if (file.get() < 0) return system_failure("write", path);
    return std::make_unique<LocalSink>(std::move(file), path);
  }
  Result<FileInfo> info(const std::string& path) override {
    struct stat status;
    if (::stat(path.c_str(), &status) != 0) return system_failure("read", path);
    const int64_t modified =
        int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
    return FileInfo{path, static_cast<int64_t>(status.st_size), S_ISDIR(status.st_mode), modified};
  }
  Result<std::vector<FileInfo>> list(const std::string& directory) override;
  Result<> make_directories(const std::string& path) override;
  Result<> rename(const std::string& from, const std::string& to) override;
  Result<> remove(const std::string& path) override {
    if (std::remove(path.c_str()) != 0) return system_failure("remove", path);
    return {};
  }
};

Result<std::vector<FileInfo>> LocalFiles::list(const std::string& directory) {
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::opendir(directory.c_str()), ::closedir);
  if (!stream) return system_failure("list", directory);
  std::vector<FileInfo> entries;
  errno = 0;
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") {
      auto found = info(join_path(directory, name));
      if (found) entries.push_back(*std::move(found));  // not: a dangling link, or just removed
    }
    errno = 0;
  }
  if (errno != 0) return system_failure("list", directory);
  std::sort(entries.begin(), entries.end(),
            [](const FileInfo& a, const FileInfo& b) { return a.path < b.path; });
  return entries;
}

Result<> LocalFiles::make_directories(const std::string& path) {
  if (const auto found = info(path)) {
    if (found->is_directory) return {};
    return fail(Code::kAlreadyExists, "cannot create directory {}: a file has this name", path);
  }
  const std::string parent = directory_name(path);
  if (parent != path) HW_RETURN_IF_ERROR(make_directories(parent));
  if (::mkdir(path.c_str(), 0777) != 0 && errno != EEXIST) {
    return system_failure("create directory", path);
  }
  return sync_directory(parent);
}

Result<> LocalFiles::rename(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0) {
    return system_failure(fmt::format("rename {} to", from), to);
  }
  HW_RETURN_IF_ERROR(sync_directory(directory_name(to)));
  if (directory_name(from) != directory_name(to)) return sync_directory(directory_name(from));
  return {};
}

}  // namespace

FileSystem& local_files() {
  static LocalFiles files;
  return files;
}

}  // namespace headwater
