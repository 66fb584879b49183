#include "tokens/byte_alphabet.h"

#include <algorithm>

#include "text/utf8.h"

namespace headwater {
namespace {

constexpr char32_t kFirstMoved = 0x100;
constexpr char32_t kEnd = 0x144;  // behind the last character

constexpr bool stands_for_itself(char32_t byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct Alphabet {
  std::array<char32_t, 256> characters{};  // by byte
  std::array<uint8_t, kEnd> bytes{};       // by character
  std::array<uint8_t, 256> order{};
};

constexpr Alphabet make_alphabet() {
  Alphabet a;
  char32_t moved = kFirstMoved;
  for (char32_t byte = 0; byte < 256; ++byte) {
    const char32_t c = stands_for_itself(byte) ? byte : moved++;
    a.characters[byte] = c;
    a.bytes[c] = static_cast<uint8_t>(byte);
  }
  size_t place = 0;
  for (char32_t c = 0; c < kEnd; ++c)
    if (a.characters[a.bytes[c]] == c) a.order[place++] = a.bytes[c];
  return a;
}

constexpr Alphabet kAlphabet = make_alphabet();

}  // namespace

const std::array<uint8_t, 256>& bytes_in_alphabet_order() { return kAlphabet.order; }

std::string bytes_to_alphabet(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) append_utf8(kAlphabet.characters[static_cast<uint8_t>(byte)], text);
  return text;
}

std::optional<std::string> alphabet_to_bytes(std::string_view text) {
  std::string bytes;
  for (size_t i = 0; i < text.size();) {
    const char32_t c = decode_utf8(text, i);
    if (c >= kEnd || kAlphabet.characters[kAlphabet.bytes[c]] != c) return std::nullopt;
    bytes.push_back(static_cast<char>(kAlphabet.bytes[c]));
  }
  return bytes;
}

}  // namespace headwater
