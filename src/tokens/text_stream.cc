#include "tokens/text_stream.h"

#include <algorithm>

#include "text/utf8.h"

namespace headwater {
namespace {

// Bytes of a character that begins so; 1 for what begins none.
size_t character_size(uint8_t lead) {
  if (lead >= 0xF0 && lead <= 0xF4) return 4;
  if (lead >= 0xE0 && lead < 0xF0) return 3;
  return lead >= 0xC2 && lead < 0xE0 ? 2 : 1;
}

// Whether a lead byte, with continuation bytes or without, lacks some to be a character. Only the
// second byte is told by the first what it must be (Unicode standard, table 3-7).
bool is_beginning(std::string_view part) {
  const auto lead = static_cast<uint8_t>(part[0]);
  if (part.size() >= character_size(lead)) return false;
  if (part.size() == 1) return true;
  const auto second = static_cast<uint8_t>(part[1]);
  const int low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const int high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  return low <= second && second <= high;
}

// Without the beginning of a character at its end, if there is one.
size_t whole_size(std::string_view text) {
  for (size_t back = 1; back <= std::min<size_t>(3, text.size()); ++back) {
    const size_t at = text.size() - back;
    const bool continues = (static_cast<uint8_t>(text[at]) & 0xC0) == 0x80;
    if (!continues) return is_beginning(text.substr(at)) ? at : text.size();
  }
  return text.size();
}

}  // namespace

Result<std::string> TextStream::add(int32_t id) {
  HW_ASSIGN_OR_RETURN(const std::string piece, tokenizer_.decode(std::span(&id, 1)));
  if (tokenizer_.byte_pairs() == nullptr) {
    const bool glued = piece != tokenizer_.token(id);  // decoding took its ## away
    const bool blank = begun_ && !glued;
    begun_ = true;
    return (blank ? " " : "") + piece;
  }
  waiting_ += piece;
  const size_t whole = whole_size(waiting_);
  std::string text = replace_invalid_utf8(std::string_view(waiting_).substr(0, whole));
  waiting_.erase(0, whole);
  return text;
}

std::string TextStream::finish() {
  std::string text = replace_invalid_utf8(waiting_);
  waiting_.clear();
  begun_ = false;
  return text;
}

}  // namespace headwater
