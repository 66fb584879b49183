// Emoji sequences as Unicode Technical Standard 51 writes them: a picture with its variation
// selector, skin tone, keycap and tags, flags, and pictures joined by U+200D.
#pragma once

#include <optional>
#include <string_view>

#include "text/offset_map.h"

namespace headwater {

// The first emoji sequence at or behind `from` in valid UTF-8.
std::optional<ByteRange> find_emoji(std::string_view text, size_t from);

}  // namespace headwater
