// White space as Python's str.strip and str.split see it: what vocabulary loaders and corpus
// readers of the reference programs remove around a line.
#pragma once

#include <string_view>

namespace headwater {

bool is_white_space(char32_t code_point);

// `text` is valid UTF-8.
std::string_view strip_white_space(std::string_view text);

}  // namespace headwater
