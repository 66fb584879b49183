// Whole files: bounded reading, and replacing a file so that a crash leaves the old or the new one.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "io/buffered_sink.h"
#include "io/file.h"

namespace headwater {
namespace {

// Unique within the machine while the process lives; short enough for the 255 bytes a name may
// have.
std::string temporary_name(const std::string& path) {
  static std::atomic<int64_t> counter{0};
  const std::string name = base_name(path).substr(0, 200);
  return join_path(directory_name(path), fmt::format(".{}.tmp-{}-{}", name, getpid(), ++counter));
}

}  // namespace

Result<std::string> read_file(FileSystem& fs, const std::string& path, int64_t limit) {
  HW_ASSIGN_OR_RETURN(const FileInfo info, fs.info(path));
  if (info.size > limit) {
    return fail(Code::kOutOfRange, "{} has {} bytes, more than the limit of {} bytes", path,
                info.size, limit);
  }
  HW_ASSIGN_OR_RETURN(auto source, fs.open_read(path));
  std::string content;
  content.resize(static_cast<size_t>(std::max<int64_t>(info.size, 4096)));
  size_t filled = 0;
  while (true) {
    if (filled == content.size()) content.resize(2 * filled);  // the file grew, or is a pipe
    HW_ASSIGN_OR_RETURN(const size_t n,
                        source->read({reinterpret_cast<uint8_t*>(content.data()) + filled,
                                      content.size() - filled}));
    if (n == 0) break;
    filled += n;
    if (filled > static_cast<size_t>(limit)) {
      return fail(Code::kOutOfRange, "{} has at least {} bytes, more than the limit of {} bytes",
                  path, filled, limit);
    }
  }
  content.resize(filled);
  return content;
}

Result<> write_file_atomic(FileSystem& fs, const std::string& path, std::string_view content) {
  HW_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(fs, path));
  HW_RETURN_IF_ERROR(file.sink().write(content));
  return file.commit();
}

Result<AtomicFile> AtomicFile::create(FileSystem& fs, std::string path) {
  AtomicFile file;
  std::string temporary = temporary_name(path);
  auto sink = fs.open_write(temporary);
  if (!sink) return in_context(std::move(sink).error(), path);
  file.fs_ = &fs;
  file.path_ = std::move(path);
  file.temporary_ = std::move(temporary);
  file.sink_ = std::make_unique<BufferedSink>(*std::move(sink));
  return file;
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept { *this = std::move(other); }

AtomicFile& AtomicFile::operator=(AtomicFile&& other) noexcept {
  std::swap(fs_, other.fs_);
  path_.swap(other.path_);
  temporary_.swap(other.temporary_);
  sink_.swap(other.sink_);
  return *this;
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::discard() {
  if (temporary_.empty()) return;
  sink_.reset();
  (void)fs_->remove(
      temporary_);  // best effort: there is an error to report already, or nobody cares
  temporary_.clear();
}

Result<> AtomicFile::commit() {
  HW_RETURN_IF_ERROR(sink_->close());
  auto renamed = fs_->rename(temporary_, path_);
  if (!renamed) return renamed;
  temporary_.clear();
  return {};
}

}  // namespace headwater
