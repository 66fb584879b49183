// Splitting lines that are longer than an example, whose tail the ELECTRA builder would drop.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace headwater {

// Takes the first sentence off the front of `line` (valid UTF-8): up to and including the white
// space behind a sentence end (. ! ? and the like, closing quotes and brackets included), or all of
// it. Never empty when `line` is not.
std::string_view take_sentence(std::string_view& line);

// How many of `ids` (not empty) make the next piece of a sentence that is too long: all, when they
// fit into an example; else half an example, and on to the next word start if one is near. Two such
// pieces fill an example, and little is cut off.
size_t piece_length(std::span<const int32_t> ids, int64_t max_seq_length,
                    const std::vector<bool>& continues_word);

}  // namespace headwater
