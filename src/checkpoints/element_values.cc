#include "checkpoints/element_values.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "base/error.h"

namespace headwater {
namespace {

double from_half(uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1f, mantissa = bits & 0x3ff;
  double value = 0;
  if (exponent == 0x1f) {
    value = mantissa == 0 ? INFINITY : NAN;
  } else if (exponent == 0) {
    value = std::ldexp(mantissa, -24);
  } else {
    value = std::ldexp(mantissa | 0x400, exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -value : value;
}

uint16_t to_half(double value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double size = std::fabs(value);
  if (std::isnan(value)) return sign | 0x7e00;
  if (size >= 65520) return sign | 0x7c00;  // half-way to the next beyond the largest
  const int exponent = size < 0x1p-14 ? -14 : std::ilogb(size);
  // In units of the last place; a carry into the exponent is what the sum gives.
  const auto units = static_cast<uint32_t>(std::nearbyint(std::ldexp(size, 10 - exponent)));
  const uint32_t bits = (static_cast<uint32_t>(exponent + 14) << 10) + units;
  return static_cast<uint16_t>(sign | bits);
}

// The upper half of a float, rounded to even. Rounding to float first may round twice; the odd bit
// that is kept for what was lost prevents it.
uint16_t to_bf16(double value) {
  if (std::isnan(value)) return 0x7fc0;
  auto narrow = static_cast<float>(value);
  auto bits = std::bit_cast<uint32_t>(narrow);
  if (static_cast<double>(narrow) != value && std::isfinite(narrow)) {
    // `narrow` is one of the two floats around the value; the lower in size with its last bit set
    // stands for everything between them.
    if (std::fabs(static_cast<double>(narrow)) > std::fabs(value)) --bits;
    bits |= 1;
  }
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

template <class T, class Convert>
void decode_each(std::span<const uint8_t> bytes, std::span<double> values, Convert convert) {
  for (size_t i = 0; i < values.size(); ++i) {
    T element;
    std::memcpy(&element, bytes.data() + i * sizeof(T), sizeof(T));
    values[i] = static_cast<double>(convert(element));
  }
}

template <class T>
void decode_plain(std::span<const uint8_t> bytes, std::span<double> values) {
  decode_each<T>(bytes, values, [](T element) { return element; });
}

template <class T, class Convert>
void encode_each(std::span<const double> values, std::span<uint8_t> bytes, Convert convert) {
  for (size_t i = 0; i < values.size(); ++i) {
    const T element = convert(values[i]);
    std::memcpy(bytes.data() + i * sizeof(T), &element, sizeof(T));
  }
}

}  // namespace

bool is_floating(ElementType type) {
  return type == ElementType::kF32 || type == ElementType::kF64 || type == ElementType::kF16 ||
         type == ElementType::kBF16;
}

bool has_values(ElementType type) {
  switch (type) {
    case ElementType::kC64:
    case ElementType::kC128:
    case ElementType::kF8E4M3:
    case ElementType::kF8E5M2:
    case ElementType::kF8E8M0:
    case ElementType::kString: return false;
    default: return true;
  }
}

void decode_values(ElementType type, std::span<const uint8_t> bytes, std::span<double> values) {
  HW_CHECK(has_values(type) &&
           bytes.size() == values.size() * static_cast<size_t>(element_bytes(type)));
  switch (type) {
    case ElementType::kF32: return decode_plain<float>(bytes, values);
    case ElementType::kF64: return decode_plain<double>(bytes, values);
    case ElementType::kF16: return decode_each<uint16_t>(bytes, values, from_half);
    case ElementType::kBF16:
      return decode_each<uint16_t>(bytes, values, [](uint16_t bits) {
        return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
      });
    case ElementType::kI8: return decode_plain<int8_t>(bytes, values);
    case ElementType::kI16: return decode_plain<int16_t>(bytes, values);
    case ElementType::kI32: return decode_plain<int32_t>(bytes, values);
    case ElementType::kI64: return decode_plain<int64_t>(bytes, values);
    case ElementType::kU16: return decode_plain<uint16_t>(bytes, values);
    case ElementType::kU32: return decode_plain<uint32_t>(bytes, values);
    case ElementType::kU64: return decode_plain<uint64_t>(bytes, values);
    default: return decode_plain<uint8_t>(bytes, values);  // u8, bool
  }
}

void encode_values(ElementType type, std::span<const double> values, std::span<uint8_t> bytes) {
  HW_CHECK(is_floating(type) &&
           bytes.size() == values.size() * static_cast<size_t>(element_bytes(type)));
  switch (type) {
    case ElementType::kF32:
      return encode_each<float>(values, bytes, [](double v) { return static_cast<float>(v); });
    case ElementType::kF16: return encode_each<uint16_t>(values, bytes, to_half);
    case ElementType::kBF16: return encode_each<uint16_t>(values, bytes, to_bf16);
    default: return encode_each<double>(values, bytes, [](double v) { return v; });
  }
}

}  // namespace headwater
