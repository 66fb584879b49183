// GPT-2's way to write bytes in its files: each of the 256 as one printable character. Those that
// are printable in Latin-1 stand for themselves, the others are U+0100, U+0101, ... in their order;
// a blank is U+0120 ("Ġ").
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace headwater {

// Bytes in the order of their characters: the ids of single bytes in GPT-2's vocabulary.
const std::array<uint8_t, 256>& bytes_in_alphabet_order();

std::string bytes_to_alphabet(std::string_view bytes);
// Nothing when a character (of valid UTF-8) is not one of the 256.
std::optional<std::string> alphabet_to_bytes(std::string_view text);

}  // namespace headwater
