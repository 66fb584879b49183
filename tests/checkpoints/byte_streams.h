// Byte streams over strings, for tests of readers and writers that need no file system.
#pragma once

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "io/file.h"

namespace headwater {

// Gives at most `piece` bytes a call, as pipes and decompressors do.
class StringSource : public ByteSource {
 public:
  explicit StringSource(std::string text, size_t piece = 1 << 20)
      : text_(std::move(text)), piece_(piece) {}
  Result<size_t> read(std::span<uint8_t> out) override {
    const size_t n = std::min({out.size(), text_.size() - position_, piece_});
    if (n > 0) std::memcpy(out.data(), text_.data() + position_, n);
    position_ += n;
    return n;
  }

 private:
  std::string text_;
  size_t piece_, position_ = 0;
};

class StringSink : public ByteSink {
 public:
  using ByteSink::write;
  Result<> write(std::span<const uint8_t> data) override {
    text.append(reinterpret_cast<const char*>(data.data()), data.size());
    return {};
  }
  Result<> close() override { return {}; }

  std::string text;
};

inline std::string file_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace headwater
