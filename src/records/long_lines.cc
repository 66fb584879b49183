#include "records/long_lines.h"

#include <algorithm>

#include "text/utf8.h"
#include "text/white_space.h"

namespace headwater {
namespace {

bool ends_sentence(char32_t c) {
  return c == '.' || c == '!' || c == '?' || c == 0x2026 /* … */ || c == 0x3002 /* 。 */ ||
         c == 0xFF01 /* ！ */ || c == 0xFF0E /* ． */ || c == 0xFF1F /* ？ */;
}

bool closes(char32_t c) {
  return c == '"' || c == '\'' || c == ')' || c == ']' || c == 0x2019 || c == 0x201D ||
         c == 0x300D || c == 0x300F || c == 0x3009 || c == 0x300B || c == 0xFF09;
}

}  // namespace

std::string_view take_sentence(std::string_view& line) {
  size_t at = 0;
  bool ended = false, space = false;
  while (at < line.size()) {
    size_t next = at;
    const char32_t c = decode_utf8(line, next);
    if (is_white_space(c)) space = ended;
    else if (space) break;
    else ended = ends_sentence(c) || (ended && closes(c));
    at = next;
  }
  const auto sentence = line.substr(0, at);
  line.remove_prefix(at);
  return sentence;
}

size_t piece_length(std::span<const int32_t> ids, int64_t max_seq_length,
                    const std::vector<bool>& continues_word) {
  if (static_cast<int64_t>(ids.size()) <= max_seq_length - 2) return ids.size();
  const auto half = static_cast<size_t>(std::max<int64_t>(1, max_seq_length / 2));
  const size_t furthest = std::min(ids.size(), half + half / 8);
  for (size_t size = half; size < furthest; ++size)
    if (!continues_word[static_cast<size_t>(ids[size])]) return size;
  return half;
}

}  // namespace headwater
