// Gathers small writes into large ones in front of another sink.
#pragma once

#include <vector>

#include "io/file.h"

namespace headwater {

// What is still in the buffer reaches `base` on flush() or close(); a BufferedSink that is
// destroyed before that drops it.
class BufferedSink : public ByteSink {
 public:
  using ByteSink::write;
  explicit BufferedSink(std::unique_ptr<ByteSink> base, size_t capacity = size_t{1} << 18)
      : base_(std::move(base)), capacity_(capacity) {
    buffer_.reserve(capacity_);
  }

  Result<> write(std::span<const uint8_t> data) override {
    if (buffer_.size() + data.size() > capacity_) HW_RETURN_IF_ERROR(flush());
    if (data.size() >= capacity_) return base_->write(data);
    buffer_.insert(buffer_.end(), data.begin(), data.end());
    return {};
  }
  Result<> flush() {
    if (buffer_.empty()) return {};
    HW_RETURN_IF_ERROR(base_->write(std::span<const uint8_t>(buffer_)));
    buffer_.clear();
    return {};
  }
  Result<> close() override {
    HW_RETURN_IF_ERROR(flush());
    return base_->close();
  }

 private:
  std::unique_ptr<ByteSink> base_;
  size_t capacity_;
  std::vector<uint8_t> buffer_;
};

}  // namespace headwater
