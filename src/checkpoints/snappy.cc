#include "checkpoints/snappy.h"

#include "checkpoints/byte_cursor.h"

namespace headwater {
namespace {

constexpr uint64_t kLargestRatio = 64;  // a two-byte copy makes 64 bytes

// One element: a literal with its bytes, or a copy of bytes that are out already.
struct Element {
  std::span<const uint8_t> literal;
  uint64_t length = 0, distance = 0;  // distance 0: a literal
};

std::optional<uint64_t> little_endian(ByteCursor& in, uint64_t size) {
  const auto bytes = in.take(size);
  if (!bytes) return std::nullopt;
  uint64_t value = 0;
  for (size_t i = bytes->size(); i-- > 0;) value = value << 8 | (*bytes)[i];
  return value;
}

std::optional<Element> next_element(ByteCursor& in) {
  const auto tag = in.number<uint8_t>();
  if (!tag) return std::nullopt;
  const uint64_t high = *tag >> 2;
  std::optional<uint64_t> operand = 0;
  switch (*tag & 3) {
    case 0: {  // up to 60 bytes; 60 to 63: the length follows in 1 to 4 bytes
      if (high >= 60) operand = little_endian(in, high - 59);
      else operand = high;
      const auto literal = operand ? in.take(*operand + 1) : std::nullopt;
      if (!literal) return std::nullopt;
      return Element{*literal, literal->size(), 0};
    }
    case 1:
      operand = little_endian(in, 1);
      if (!operand) return std::nullopt;
      return Element{{}, (high & 7) + 4, (high >> 3) << 8 | *operand};
    case 2: operand = little_endian(in, 2); break;
    default: operand = little_endian(in, 4);
  }
  if (!operand) return std::nullopt;
  return Element{{}, high + 1, *operand};
}

}  // namespace

Result<std::vector<uint8_t>> snappy_decompress(std::span<const uint8_t> block) {
  const auto damaged = [] { return fail(Code::kDataLoss, "its snappy compression is damaged"); };
  ByteCursor in(block);
  const auto size = in.varint();
  if (!size || *size > kLargestRatio * block.size()) return damaged();
  std::vector<uint8_t> out;
  out.reserve(static_cast<size_t>(*size));
  while (!in.at_end()) {
    const auto element = next_element(in);
    if (!element || element->length > *size - out.size()) return damaged();
    if (!element->literal.empty()) {
      out.insert(out.end(), element->literal.begin(), element->literal.end());
      continue;
    }
    if (element->distance == 0 || element->distance > out.size()) return damaged();
    // Byte by byte: a copy may overlap what it makes, and then repeats it.
    for (uint64_t i = 0; i < element->length; ++i)
      out.push_back(out[out.size() - element->distance]);
  }
  if (out.size() != *size) return damaged();
  return out;
}

}  // namespace headwater
