#include "text/white_space.h"

#include "text/utf8.h"

namespace headwater {

bool is_white_space(char32_t c) {
  if (c < 0x80) return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

std::string_view strip_white_space(std::string_view text) {
  size_t begin = 0;
  while (begin < text.size()) {
    size_t next = begin;
    if (!is_white_space(decode_utf8(text, next))) break;
    begin = next;
  }
  size_t end = text.size();
  while (end > begin) {
    size_t last = end - 1;
    while ((static_cast<uint8_t>(text[last]) & 0xC0) == 0x80) --last;
    size_t position = last;
    if (!is_white_space(decode_utf8(text, position))) break;
    end = last;
  }
  return text.substr(begin, end - begin);
}

}  // namespace headwater
