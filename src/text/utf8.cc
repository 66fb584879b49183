#include "text/utf8.h"

#include <cstring>

namespace headwater {
namespace {

// Allowed range of the second byte after a lead byte (Unicode standard, table 3-7), and the length.
struct Lead {
  int length;  // 0: not a lead byte
  uint8_t low, high;
};

Lead lead_of(uint8_t byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte < 0xC2) return {0, 0, 0};
  if (byte < 0xE0) return {2, 0x80, 0xBF};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte < 0xF0) return {3, 0x80, 0xBF};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte < 0xF4) return {4, 0x80, 0xBF};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

// Length of the well-formed sequence at the front of `text`, or minus the length of the maximal
// part that is to be replaced as one.
int sequence_length(std::string_view text) {
  const Lead lead = lead_of(static_cast<uint8_t>(text[0]));
  if (lead.length == 0) return -1;
  for (int i = 1; i < lead.length; ++i) {
    if (static_cast<size_t>(i) == text.size()) return -i;
    const uint8_t byte = static_cast<uint8_t>(text[static_cast<size_t>(i)]);
    const uint8_t low = i == 1 ? lead.low : 0x80;
    const uint8_t high = i == 1 ? lead.high : 0xBF;
    if (byte < low || byte > high) return -i;
  }
  return lead.length;
}

bool eight_ascii(const char* p) {
  uint64_t word = 0;
  std::memcpy(&word, p, sizeof word);
  return (word & 0x8080808080808080u) == 0;
}

}  // namespace

std::optional<size_t> first_invalid_utf8(std::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    if (i + 8 <= text.size() && eight_ascii(text.data() + i)) {
      i += 8;
      continue;
    }
    // Most three-byte characters (Hangul but its last rows, Hanja, kana) need no special limits.
    if (i + 3 <= text.size()) {
      const uint8_t a = static_cast<uint8_t>(text[i]);
      const uint8_t b = static_cast<uint8_t>(text[i + 1]);
      const uint8_t c = static_cast<uint8_t>(text[i + 2]);
      if (a > 0xE0 && a < 0xED && (b & 0xC0) == 0x80 && (c & 0xC0) == 0x80) {
        i += 3;
        continue;
      }
    }
    const int length = sequence_length(text.substr(i));
    if (length < 0) return i;
    i += static_cast<size_t>(length);
  }
  return std::nullopt;
}

std::string replace_invalid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 3);
  while (const std::optional<size_t> bad = first_invalid_utf8(text)) {
    out.append(text.substr(0, *bad));
    text.remove_prefix(*bad);
    out.append("\xEF\xBF\xBD");
    text.remove_prefix(static_cast<size_t>(-sequence_length(text)));
  }
  out.append(text);
  return out;
}

std::string encoding_hint(std::string_view file_start) {
  if (file_start.starts_with("\xFF\xFE") || file_start.starts_with("\xFE\xFF"))
    return "the file looks like UTF-16: convert it with iconv -f utf-16 -t utf-8";
  return "convert the file (Korean text is often cp949: iconv -f cp949 -t utf-8), or use "
         "--invalid-utf8 replace";
}

void append_utf8(char32_t c, std::string& out) {
  const auto put = [&](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (c < 0x80) return put(c);
  if (c < 0x800) return put(0xC0 | (c >> 6)), put(0x80 | (c & 0x3F));
  if (c < 0x10000) {
    return put(0xE0 | (c >> 12)), put(0x80 | ((c >> 6) & 0x3F)), put(0x80 | (c & 0x3F));
  }
  put(0xF0 | (c >> 18)), put(0x80 | ((c >> 12) & 0x3F));
  put(0x80 | ((c >> 6) & 0x3F)), put(0x80 | (c & 0x3F));
}

std::u32string utf8_to_utf32(std::string_view text) {
  std::u32string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) out.push_back(decode_utf8(text, i));
  return out;
}

std::string utf32_to_utf8(std::u32string_view text) {
  std::string out;
  out.reserve(text.size() * 3);
  for (const char32_t c : text) append_utf8(c, out);
  return out;
}

int64_t count_code_points(std::string_view text) {
  int64_t n = 0;
  for (const char c : text) n += (static_cast<uint8_t>(c) & 0xC0) != 0x80;
  return n;
}

}  // namespace headwater
