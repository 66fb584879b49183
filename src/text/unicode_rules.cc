#include "text/unicode_rules.h"

#include <unicode/uchar.h>
#include <unicode/unorm2.h>
#include <unicode/ustring.h>

#include <array>

namespace headwater {
namespace {

UChar32 icu(char32_t c) { return static_cast<UChar32>(c); }

// Unicode version that introduced a code point, by its first number; 0 when unassigned.
int age(char32_t c) {
  UVersionInfo version = {};
  u_charAge(icu(c), version);
  return version[0];
}

const UNormalizer2* nfd() {
  UErrorCode status = U_ZERO_ERROR;
  return unorm2_getNFDInstance(&status);  // a static of ICU; its data is linked into the library
}

std::u32string to_utf32(const UChar* text, int32_t length) {
  std::u32string out;
  for (int32_t i = 0; i < length;) {
    UChar32 c = 0;
    U16_NEXT(text, i, length, c);
    out.push_back(static_cast<char32_t>(c));
  }
  return out;
}

// Capital letters of Unicode 16 and 17, which the dialect's lower-casing knows and ICU 72 does not.
char32_t lower_after_unicode_15(char32_t c) {
  if (c >= 0x10D50 && c <= 0x10D65) return c + 0x20;
  if (c >= 0x16EA0 && c <= 0x16EB8) return c + 0x1B;
  switch (c) {
    case 0xA7CB: return 0x264;
    case 0xA7DC: return 0x19B;
    case 0x1C89:
    case 0xA7CC:
    case 0xA7CE:
    case 0xA7D2:
    case 0xA7D4:
    case 0xA7DA: return c + 1;
    default: return c;
  }
}

}  // namespace

int UnicodeRules::category(char32_t c) const {
  if (!hf_) return u_charType(icu(c));
  // Categories of Unicode 8: later code points are unassigned, a few were reclassified since.
  if (age(c) > 8) return U_UNASSIGNED;
  switch (c) {
    case 0x166D:
    case 0x111C9: return U_OTHER_PUNCTUATION;
    case 0x1734: return U_NON_SPACING_MARK;
    case 0x1885:
    case 0x1886: return U_OTHER_LETTER;
    case 0xA9BD: return U_COMBINING_SPACING_MARK;
    default: return u_charType(icu(c));
  }
}

bool UnicodeRules::is_space(char32_t c) const {
  if (c == '\t' || c == '\n' || c == '\r') return true;
  // The line and paragraph separators are no category Zs, but both dialects split words at them.
  return c == 0x2028 || c == 0x2029 || category(c) == U_SPACE_SEPARATOR;
}

bool UnicodeRules::is_dropped(char32_t c) const {
  if (c == 0 || c == 0xFFFD) return true;
  switch (category(c)) {
    case U_CONTROL_CHAR:
    case U_FORMAT_CHAR:
    case U_PRIVATE_USE_CHAR:
    case U_SURROGATE: return true;
    case U_UNASSIGNED: return !hf_;
    default: return false;
  }
}

bool UnicodeRules::is_ideograph(char32_t c) const {
  const auto in = [c](char32_t first, char32_t last) { return c >= first && c <= last; };
  return in(0x4E00, 0x9FFF) || in(0x3400, 0x4DBF) || in(0x20000, 0x2A6DF) || in(0x2A700, 0x2B73F) ||
         in(0x2B740, 0x2B81F) || in(hf_ ? 0x2B920 : 0x2B820, 0x2CEAF) || in(0xF900, 0xFAFF) ||
         in(0x2F800, 0x2FA1F);
}

bool UnicodeRules::is_punctuation(char32_t c) const {
  if (c < 0x80) {
    return (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) ||
           (c >= 123 && c <= 126);
  }
  return (U_MASK(category(c)) & U_GC_P_MASK) != 0;
}

bool UnicodeRules::is_accent(char32_t c) const { return category(c) == U_NON_SPACING_MARK; }

int UnicodeRules::combining_class(char32_t c) const {
  return hf_ && age(c) > 9 ? 0 : u_getCombiningClass(icu(c));
}

std::u32string UnicodeRules::lower(char32_t c) const {
  if (hf_ && age(c) == 0) return {lower_after_unicode_15(c)};
  if (!u_hasBinaryProperty(icu(c), UCHAR_CHANGES_WHEN_LOWERCASED)) return {c};
  std::array<UChar, 2> source = {};
  int32_t length = 0;
  U16_APPEND_UNSAFE(source.data(), length, icu(c));
  std::array<UChar, 8> target = {};
  UErrorCode status = U_ZERO_ERROR;
  const int32_t lowered =
      u_strToLower(target.data(), target.size(), source.data(), length, "", &status);
  return to_utf32(target.data(), lowered);
}

std::u32string UnicodeRules::decompose(char32_t c) const {
  if (hf_ && age(c) > 9) return {c};
  std::array<UChar, 32> target = {};
  UErrorCode status = U_ZERO_ERROR;
  const int32_t length =
      unorm2_getDecomposition(nfd(), icu(c), target.data(), target.size(), &status);
  return length < 0 ? std::u32string{c} : to_utf32(target.data(), length);
}

bool UnicodeRules::is_cased(char32_t c) { return u_hasBinaryProperty(icu(c), UCHAR_CASED) != 0; }

bool UnicodeRules::is_case_ignorable(char32_t c) {
  return u_hasBinaryProperty(icu(c), UCHAR_CASE_IGNORABLE) != 0;
}

void UnicodeRules::for_each_run(const std::function<void(char32_t, char32_t, bool)>& f) {
  u_enumCharTypes(
      [](const void* context, UChar32 start, UChar32 limit, UCharCategory category) -> UBool {
        const bool empty = category == U_UNASSIGNED || category == U_PRIVATE_USE_CHAR;
        (*static_cast<const std::function<void(char32_t, char32_t, bool)>*>(context))(
            static_cast<char32_t>(start), static_cast<char32_t>(limit - 1),
            empty && limit - start > 4096);
        return true;
      },
      &f);
}

}  // namespace headwater
