// Reading and writing protobuf's wire format by hand: what the Example codec needs of it, and no
// more. Internal to records/.
//
// A WireReader walks one message. Every length is checked against what is left; nothing is
// allocated.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace headwater::wire {

enum Type : uint32_t {
  kVarint = 0,
  kFixed64 = 1,
  kLengthDelimited = 2,
  kStartGroup = 3,
  kEndGroup = 4,
  kFixed32 = 5
};

constexpr uint32_t tag(uint32_t field, Type type) { return field << 3 | type; }

// Decodes one varint of up to ten bytes; null when it is longer or runs over the end. Bits above
// the 64th are dropped, needless zero groups are accepted: as protobuf does.
inline const uint8_t* decode_varint(const uint8_t* p, const uint8_t* end, uint64_t& value) {
  uint64_t result = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    if (p == end) return nullptr;
    const uint64_t byte = *p++;
    result |= (byte & 0x7F) << shift;
    if (byte < 0x80) {
      value = result;
      return p;
    }
  }
  return nullptr;
}

class Reader {
 public:
  explicit Reader(std::string_view message)
      : p_(reinterpret_cast<const uint8_t*>(message.data())), end_(p_ + message.size()) {}

  // The next tag, or 0 at the end or on damage.
  uint32_t next_tag() {
    if (p_ == end_) return 0;
    uint64_t value = 0;
    const uint8_t* next = decode_varint(p_, end_, value);
    if (next == nullptr || next - p_ > 5 || value > UINT32_MAX || value >> 3 == 0) return fail();
    p_ = next;
    return static_cast<uint32_t>(value);
  }
  bool read_bytes(std::string_view& bytes) {
    uint64_t length = 0;
    const uint8_t* next = decode_varint(p_, end_, length);
    if (next == nullptr || next - p_ > 5 || length > static_cast<uint64_t>(end_ - next))
      return fail() != 0;
    bytes = {reinterpret_cast<const char*>(next), static_cast<size_t>(length)};
    p_ = next + length;
    return true;
  }
  bool read_varint(uint64_t& value) {
    const uint8_t* next = decode_varint(p_, end_, value);
    if (next == nullptr) return fail() != 0;
    p_ = next;
    return true;
  }
  bool read_fixed32(uint32_t& value) {
    if (end_ - p_ < 4) return fail() != 0;
    std::memcpy(&value, p_, 4);
    p_ += 4;
    return true;
  }
  // Passes over the value of an unknown field, groups included.
  bool skip(uint32_t field_tag, int depth = 0) {
    constexpr int kMaxDepth = 100;
    uint64_t ignored = 0;
    std::string_view bytes;
    switch (field_tag & 7) {
      case kVarint: return read_varint(ignored);
      case kFixed64: return advance(8);
      case kLengthDelimited: return read_bytes(bytes);
      case kFixed32: return advance(4);
      case kStartGroup:
        if (depth == kMaxDepth) return fail() != 0;
        while (const uint32_t inner = next_tag()) {
          if ((inner & 7) == kEndGroup) return inner >> 3 == field_tag >> 3 || fail() != 0;
          if (!skip(inner, depth + 1)) return false;
        }
        return fail() != 0;
      default: return fail() != 0;  // an end without a start, or a type that does not exist
    }
  }
  bool damaged() const { return damaged_; }
  const uint8_t* position() const { return p_; }

 private:
  uint32_t fail() {
    damaged_ = true;
    return 0;
  }
  bool advance(int64_t bytes) {
    if (end_ - p_ < bytes) return fail() != 0;
    p_ += bytes;
    return true;
  }
  const uint8_t* p_;
  const uint8_t* end_;
  bool damaged_ = false;
};

inline int64_t varint_size(uint64_t value) { return (std::bit_width(value | 1) + 6) / 7; }

// Writes varint_size(value) bytes; returns their end.
inline uint8_t* encode_varint(uint64_t value, uint8_t* p) {
  for (; value >= 0x80; value >>= 7) *p++ = static_cast<uint8_t>(value | 0x80);
  *p++ = static_cast<uint8_t>(value);
  return p;
}

inline void append_varint(uint64_t value, std::string& out) {
  uint8_t bytes[10];
  const uint8_t* end = encode_varint(value, bytes);
  out.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(end - bytes));
}

inline void append_tag_and_length(uint32_t field, int64_t length, std::string& out) {
  append_varint(tag(field, kLengthDelimited), out);
  append_varint(static_cast<uint64_t>(length), out);
}

}  // namespace headwater::wire
