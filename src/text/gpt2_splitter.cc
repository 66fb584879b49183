#include "text/gpt2_splitter.h"

#include <unicode/uchar.h>

namespace headwater {
namespace {

struct Range {
  char32_t first, last;
};

// Letters and digits of Unicode 15.1 and 16, which ICU 72 does not know.
constexpr Range kNewLetters[] = {
    {0x1C89, 0x1C8A},   {0xA7CB, 0xA7CD},   {0xA7DA, 0xA7DC},   {0x105C0, 0x105F3},
    {0x10D4A, 0x10D65}, {0x10D6F, 0x10D85}, {0x10EC2, 0x10EC4}, {0x11380, 0x11389},
    {0x1138B, 0x1138B}, {0x1138E, 0x1138E}, {0x11390, 0x113B5}, {0x113B7, 0x113B7},
    {0x113D1, 0x113D1}, {0x113D3, 0x113D3}, {0x11BC0, 0x11BE0}, {0x13460, 0x143FA},
    {0x16100, 0x1611D}, {0x16D40, 0x16D6C}, {0x18CFF, 0x18CFF}, {0x1E5D0, 0x1E5ED},
    {0x1E5F0, 0x1E5F0}, {0x2EBF0, 0x2EE5D}};
constexpr Range kNewNumbers[] = {{0x10D40, 0x10D49}, {0x116D0, 0x116E3}, {0x11BF0, 0x11BF9},
                                 {0x16130, 0x16139}, {0x16D70, 0x16D79}, {0x1CCF0, 0x1CCF9},
                                 {0x1E5F1, 0x1E5FA}};

uint8_t code(Gpt2Splitter::Kind kind) { return static_cast<uint8_t>(kind); }

Gpt2Splitter::Kind kind_of(UCharCategory category) {
  const uint32_t mask = U_MASK(category);
  if ((mask & U_GC_L_MASK) != 0) return Gpt2Splitter::Kind::kLetter;
  return (mask & U_GC_N_MASK) != 0 ? Gpt2Splitter::Kind::kNumber : Gpt2Splitter::Kind::kOther;
}

}  // namespace

Gpt2Splitter::Gpt2Splitter() : kinds_(code(Kind::kOther)) {
  u_enumCharTypes(
      [](const void* context, UChar32 start, UChar32 limit, UCharCategory category) -> UBool {
        auto* kinds = static_cast<CodePointMap<uint8_t>*>(const_cast<void*>(context));
        kinds->set_range(static_cast<char32_t>(start), static_cast<char32_t>(limit - 1),
                         code(kind_of(category)));
        return true;
      },
      &kinds_);
  for (const auto& [first, last] : kNewLetters) kinds_.set_range(first, last, code(Kind::kLetter));
  for (const auto& [first, last] : kNewNumbers) kinds_.set_range(first, last, code(Kind::kNumber));
  for (char32_t c = 0; c <= 0x3000; ++c)  // the last white space
    if (u_isUWhiteSpace(static_cast<UChar32>(c))) kinds_.set(c, code(Kind::kSpace));
  for (char32_t c = 0; c < 128; ++c) ascii_[c] = kind(c);
}

size_t Gpt2Splitter::contraction(std::string_view rest) {
  if (rest.empty()) return 0;
  switch (rest[0]) {
    case 's':
    case 't':
    case 'm':
    case 'd': return 1;
    case 'r':
    case 'v': return rest.substr(1, 1) == "e" ? 2 : 0;
    case 'l': return rest.substr(1, 1) == "l" ? 2 : 0;
    default: return 0;
  }
}

size_t Gpt2Splitter::space_end(std::string_view text, size_t begin, size_t at) const {
  size_t last = begin;  // where the last character of the run begins
  while (at < text.size()) {
    size_t behind = at;
    if (next_kind(text, behind) != Kind::kSpace) return last == begin ? at : last;
    last = at;
    at = behind;
  }
  return at;
}

}  // namespace headwater
