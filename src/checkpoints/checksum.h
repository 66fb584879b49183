// Byte streams that compute the CRC-32C and the size of what passes through.
#pragma once

#include <cstdint>
#include <memory>

#include "base/crc32c.h"
#include "io/file.h"

namespace headwater {

struct Checksum {
  uint32_t crc = 0;
  int64_t bytes = 0;

  void update(std::span<const uint8_t> data) {
    crc = crc32c(data, crc);
    bytes += static_cast<int64_t>(data.size());
  }
};

// `sink` must outlive this.
class ChecksumSink : public ByteSink {
 public:
  explicit ChecksumSink(ByteSink& sink) : sink_(sink) {}
  using ByteSink::write;
  Result<> write(std::span<const uint8_t> data) override {
    checksum_.update(data);
    return sink_.write(data);
  }
  Result<> close() override { return sink_.close(); }
  const Checksum& checksum() const { return checksum_; }

 private:
  ByteSink& sink_;
  Checksum checksum_;
};

// Counts into `checksum`, which must outlive this.
class ChecksumSource : public ByteSource {
 public:
  ChecksumSource(std::unique_ptr<ByteSource> source, Checksum& checksum)
      : source_(std::move(source)), checksum_(checksum) {}
  Result<size_t> read(std::span<uint8_t> out) override {
    auto n = source_->read(out);
    if (n) checksum_.update(out.first(*n));
    return n;
  }

 private:
  std::unique_ptr<ByteSource> source_;
  Checksum& checksum_;
};

}  // namespace headwater
