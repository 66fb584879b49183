#include "text/emoji.h"

#include <unicode/uchar.h>

#include "text/utf8.h"

namespace headwater {
namespace {

constexpr char32_t kJoiner = 0x200D, kTextStyle = 0xFE0E, kEmojiStyle = 0xFE0F, kKeycap = 0x20E3;

bool has(char32_t c, UProperty property) {
  return u_hasBinaryProperty(static_cast<UChar32>(c), property) != 0;
}

bool is_modifier(char32_t c) { return c >= 0x1F3FB && c <= 0x1F3FF; }
bool is_flag_letter(char32_t c) { return c >= 0x1F1E6 && c <= 0x1F1FF; }
bool is_tag(char32_t c) { return c >= 0xE0020 && c <= 0xE007F; }

class Reader {
 public:
  Reader(std::string_view text, size_t position) : text_(text), position_(position) {}
  size_t position() const { return position_; }
  char32_t peek() const {
    size_t next = position_;
    return position_ < text_.size() ? decode_utf8(text_, next) : 0;
  }
  template <class Predicate>
  bool take_if(Predicate predicate) {
    if (position_ >= text_.size() || !predicate(peek())) return false;
    decode_utf8(text_, position_);
    return true;
  }
  bool take(char32_t wanted) {
    return take_if([wanted](char32_t c) { return c == wanted; });
  }

 private:
  std::string_view text_;
  size_t position_;
};

// A picture: shown as one by default, or asked to be by U+FE0F. The pictures of the blocks from
// Miscellaneous Symbols on count without it, signs such as (c), (tm) and arrows do not.
bool take_picture(Reader& reader) {
  const char32_t c = reader.peek();
  if (c < 0xA9 || (c >= 0xAC00 && c <= 0xD7A3)) return false;  // nearly all text ends here
  if (!has(c, UCHAR_EMOJI) || !has(c, UCHAR_EXTENDED_PICTOGRAPHIC)) {
    return reader.take_if(is_modifier);  // a skin tone alone
  }
  Reader ahead = reader;
  ahead.take(c);
  const bool pictorial = has(c, UCHAR_EMOJI_PRESENTATION) || (c >= 0x2600 && c <= 0x27BF) ||
                         c >= 0x1F000 || ahead.peek() == kEmojiStyle;
  return pictorial && reader.take(c);
}

void take_decorations(Reader& reader) {
  while (reader.take(kEmojiStyle) || reader.take(kTextStyle) || reader.take_if(is_modifier) ||
         reader.take(kKeycap) || reader.take_if(is_tag)) {
  }
}

bool take_keycap(Reader& reader) {
  Reader ahead = reader;
  if (!ahead.take_if([](char32_t c) { return (c >= '0' && c <= '9') || c == '#' || c == '*'; }))
    return false;
  ahead.take(kEmojiStyle);
  if (!ahead.take(kKeycap)) return false;
  reader = ahead;
  return true;
}

bool take_sequence(Reader& reader) {
  if (take_keycap(reader)) return true;
  if (reader.take_if(is_flag_letter)) return reader.take_if(is_flag_letter), true;
  if (!take_picture(reader)) return false;
  take_decorations(reader);
  for (Reader ahead = reader; ahead.take(kJoiner) && take_picture(ahead); reader = ahead)
    take_decorations(ahead);
  return true;
}

}  // namespace

std::optional<ByteRange> find_emoji(std::string_view text, size_t from) {
  while (from < text.size()) {
    Reader reader(text, from);
    if (take_sequence(reader)) return ByteRange{from, reader.position()};
    decode_utf8(text, from);
  }
  return std::nullopt;
}

}  // namespace headwater
