#include "io/fault_files.h"

#include <cerrno>

namespace headwater {

class FaultFileSystem::Source : public ByteSource {
 public:
  Source(FaultFileSystem& faults, std::unique_ptr<ByteSource> base, std::string path)
      : faults_(faults), base_(std::move(base)), path_(std::move(path)) {}
  Result<size_t> read(std::span<uint8_t> out) override {
    HW_RETURN_IF_ERROR(faults_.count_read(path_));
    return base_->read(out);
  }

 private:
  FaultFileSystem& faults_;
  std::unique_ptr<ByteSource> base_;
  std::string path_;
};

class FaultFileSystem::Random : public RandomAccessFile {
 public:
  Random(FaultFileSystem& faults, std::unique_ptr<RandomAccessFile> base, std::string path)
      : faults_(faults), base_(std::move(base)), path_(std::move(path)) {}
  Result<size_t> read_at(int64_t offset, std::span<uint8_t> out) const override {
    HW_RETURN_IF_ERROR(faults_.count_read(path_));
    return base_->read_at(offset, out);
  }

 private:
  FaultFileSystem& faults_;
  std::unique_ptr<RandomAccessFile> base_;
  std::string path_;
};

class FaultFileSystem::Sink : public ByteSink {
 public:
  Sink(FaultFileSystem& faults, std::unique_ptr<ByteSink> base)
      : faults_(faults), base_(std::move(base)) {}
  Result<> write(std::span<const uint8_t> data) override {
    bool half = false;
    auto error = faults_.count_operation(true, &half);
    if (!error) return base_->write(data);
    if (half) HW_RETURN_IF_ERROR(base_->write(data.first(data.size() / 2)));
    return tl::unexpected<Error>(*std::move(error));
  }
  Result<> close() override {
    if (auto error = faults_.count_operation(false)) return tl::unexpected<Error>(*error);
    return base_->close();
  }

 private:
  FaultFileSystem& faults_;
  std::unique_ptr<ByteSink> base_;
};

void FaultFileSystem::arm(Kind kind, int64_t nth, Error error) {
  const std::scoped_lock lock(mutex_);
  kind_ = kind;
  due_ = nth;
  error_ = std::move(error);
}

void FaultFileSystem::fail_at(int64_t nth, Error error) { arm(Kind::kFail, nth, std::move(error)); }

void FaultFileSystem::fail_at(int64_t nth) {
  arm(Kind::kFail, nth, system_error(EIO, "write", "(injected fault)"));
}

void FaultFileSystem::fill_disk_at(int64_t nth) {
  arm(Kind::kFullDisk, nth, system_error(ENOSPC, "write", "(injected fault)"));
}

void FaultFileSystem::crash_at(int64_t nth) {
  arm(Kind::kCrash, nth, Error{Code::kAborted, "the process has crashed (injected fault)", {}, {}});
}

void FaultFileSystem::fail_read_at(int64_t nth) {
  const std::scoped_lock lock(mutex_);
  read_due_ = nth;
}

void FaultFileSystem::reset() {
  const std::scoped_lock lock(mutex_);
  kind_ = Kind::kNone;
  due_ = read_due_ = operations_ = reads_ = 0;
}

int64_t FaultFileSystem::operations() const {
  const std::scoped_lock lock(mutex_);
  return operations_;
}

int64_t FaultFileSystem::reads() const {
  const std::scoped_lock lock(mutex_);
  return reads_;
}

std::optional<Error> FaultFileSystem::count_operation(bool is_write, bool* half) {
  const std::scoped_lock lock(mutex_);
  ++operations_;
  bool failing = false;
  switch (kind_) {
    case Kind::kNone: break;
    case Kind::kFail: failing = operations_ == due_; break;
    case Kind::kFullDisk: failing = is_write && operations_ >= due_; break;
    case Kind::kCrash: failing = operations_ >= due_; break;
  }
  if (!failing) return std::nullopt;
  if (half != nullptr)
    *half = kind_ == Kind::kFullDisk || (kind_ == Kind::kCrash && operations_ == due_);
  return error_;
}

Result<> FaultFileSystem::count_read(std::string_view path) {
  HW_RETURN_IF_ERROR(check_alive());
  const std::scoped_lock lock(mutex_);
  if (++reads_ == read_due_) return tl::unexpected<Error>(system_error(EIO, "read", path));
  return {};
}

Result<> FaultFileSystem::check_alive() const {
  const std::scoped_lock lock(mutex_);
  if (kind_ == Kind::kCrash && operations_ >= due_) return tl::unexpected<Error>(error_);
  return {};
}

Result<std::unique_ptr<ByteSource>> FaultFileSystem::open_read(const std::string& path) {
  HW_RETURN_IF_ERROR(check_alive());
  HW_ASSIGN_OR_RETURN(auto source, base_.open_read(path));
  return std::make_unique<Source>(*this, std::move(source), path);
}

Result<std::unique_ptr<RandomAccessFile>> FaultFileSystem::open_random(const std::string& path) {
  HW_RETURN_IF_ERROR(check_alive());
  HW_ASSIGN_OR_RETURN(auto file, base_.open_random(path));
  return std::make_unique<Random>(*this, std::move(file), path);
}

Result<FileBytes> FaultFileSystem::map(const std::string& path) {
  HW_RETURN_IF_ERROR(count_read(path));
  return base_.map(path);
}

Result<std::unique_ptr<ByteSink>> FaultFileSystem::open_write(const std::string& path) {
  if (auto error = count_operation(false)) return tl::unexpected<Error>(*error);
  HW_ASSIGN_OR_RETURN(auto sink, base_.open_write(path));
  return std::make_unique<Sink>(*this, std::move(sink));
}

Result<FileInfo> FaultFileSystem::info(const std::string& path) {
  HW_RETURN_IF_ERROR(check_alive());
  return base_.info(path);
}

Result<std::vector<FileInfo>> FaultFileSystem::list(const std::string& directory) {
  HW_RETURN_IF_ERROR(check_alive());
  return base_.list(directory);
}

Result<> FaultFileSystem::make_directories(const std::string& path) {
  if (auto error = count_operation(false)) return tl::unexpected<Error>(*error);
  return base_.make_directories(path);
}

Result<> FaultFileSystem::rename(const std::string& from, const std::string& to) {
  if (auto error = count_operation(false)) return tl::unexpected<Error>(*error);
  return base_.rename(from, to);
}

Result<> FaultFileSystem::remove(const std::string& path) {
  if (auto error = count_operation(false)) return tl::unexpected<Error>(*error);
  return base_.remove(path);
}

}  // namespace headwater
