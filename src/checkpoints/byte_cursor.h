// A place in bytes that came from a file: little-endian reads that never pass the end. What the
// formats' parsers have in common; none of their meaning.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

namespace headwater {

inline std::string_view as_text(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline std::span<const uint8_t> as_bytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// `size` bytes from `offset` on; empty when they are not all there. For lengths of any value.
inline std::optional<std::span<const uint8_t>> slice_of(std::span<const uint8_t> bytes,
                                                        uint64_t offset, uint64_t size) {
  if (offset > bytes.size() || size > bytes.size() - offset) return std::nullopt;
  return bytes.subspan(static_cast<size_t>(offset), static_cast<size_t>(size));
}

class ByteCursor {
 public:
  explicit ByteCursor(std::span<const uint8_t> bytes, size_t position = 0)
      : bytes_(bytes), position_(position < bytes.size() ? position : bytes.size()) {}

  size_t position() const { return position_; }
  size_t left() const { return bytes_.size() - position_; }
  bool at_end() const { return left() == 0; }

  std::optional<std::span<const uint8_t>> take(uint64_t size) {
    const auto taken = slice_of(bytes_, position_, size);
    if (taken) position_ += taken->size();
    return taken;
  }
  bool skip(uint64_t size) { return take(size).has_value(); }

  // The next bytes as a little-endian number.
  template <class T>
  std::optional<T> number() {
    static_assert(std::is_arithmetic_v<T>);
    const auto taken = take(sizeof(T));
    if (!taken) return std::nullopt;
    T value;
    std::memcpy(&value, taken->data(), sizeof(T));
    return value;
  }

  // Seven bits a byte, the low ones first; a tenth byte may add one bit.
  std::optional<uint64_t> varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = number<uint8_t>();
      if (!byte || (shift == 63 && *byte > 1)) return std::nullopt;
      value |= uint64_t{*byte & 0x7fu} << shift;
      if (*byte < 0x80) return value;
    }
    return std::nullopt;
  }

  // Up to and without the next newline, which is taken too.
  std::optional<std::string_view> line() {
    const std::string_view rest = as_text(bytes_.subspan(position_));
    const size_t end = rest.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    position_ += end + 1;
    return rest.substr(0, end);
  }

 private:
  std::span<const uint8_t> bytes_;
  size_t position_;
};

}  // namespace headwater
