// UTF-8: validation, decoding and encoding. Everything behind this header works on valid UTF-8
// only; the check is made once, where bytes enter.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace headwater {

// Byte offset of the first sequence that is not UTF-8 (overlong forms, surrogates and code points
// over U+10FFFF included), or nothing.
std::optional<size_t> first_invalid_utf8(std::string_view text);

// Every maximal invalid part becomes one U+FFFD, as the Unicode standard recommends (section 3.9)
// and as Python's 'replace' does.
std::string replace_invalid_utf8(std::string_view text);

// Advice for an error about a text that is not UTF-8, from the first bytes of its file.
std::string encoding_hint(std::string_view file_start);

// Reads the code point at `position` of valid UTF-8 and moves behind it.
inline char32_t decode_utf8(std::string_view text, size_t& position) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[position + i]); };
  const char32_t lead = byte(0);
  if (lead < 0x80) return position += 1, lead;
  const char32_t second = byte(1) & 0x3Fu;
  if (lead < 0xE0) return position += 2, ((lead & 0x1F) << 6) | second;
  const char32_t third = byte(2) & 0x3Fu;
  if (lead < 0xF0) return position += 3, ((lead & 0x0F) << 12) | (second << 6) | third;
  const char32_t fourth = byte(3) & 0x3Fu;
  position += 4;
  return ((lead & 0x07) << 18) | (second << 12) | (third << 6) | fourth;
}

// Appends a code point (a scalar value) as UTF-8.
void append_utf8(char32_t code_point, std::string& out);

std::u32string utf8_to_utf32(std::string_view text);  // `text` is valid
std::string utf32_to_utf8(std::u32string_view text);  // scalar values only
int64_t count_code_points(std::string_view text);     // `text` is valid

}  // namespace headwater
