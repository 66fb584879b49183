#include "text/normal_form.h"

#include <unicode/bytestream.h>
#include <unicode/edits.h>
#include <unicode/normalizer2.h>
#include <unicode/stringpiece.h>
#include <unicode/uniset.h>

#include <algorithm>

#include "base/error.h"
#include "text/utf8.h"

namespace headwater {
namespace {

constexpr char32_t kFirstJamo = 0x3131, kLastJamo = 0x3163;
constexpr char32_t kFirstHalfWidthJamo = 0xFFA0, kLastHalfWidthJamo = 0xFFDC;
constexpr size_t kChunk = size_t{1} << 30;  // ICU counts bytes in 32 bits

const icu::Normalizer2& nfc() {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* form = icu::Normalizer2::getNFCInstance(status);
  HW_CHECK(U_SUCCESS(status), "ICU: {}", u_errorName(status));
  return *form;
}

// NFKC on all but compatibility jamo.
const icu::Normalizer2& nfkc_keeping_jamo() {
  static const icu::UnicodeSet everything_else = [] {
    icu::UnicodeSet set(static_cast<UChar32>(kFirstJamo), static_cast<UChar32>(0x318E));
    set.complement().freeze();
    return set;
  }();
  static const icu::FilteredNormalizer2 form = [] {
    UErrorCode status = U_ZERO_ERROR;
    const icu::Normalizer2* plain = icu::Normalizer2::getNFKCInstance(status);
    HW_CHECK(U_SUCCESS(status), "ICU: {}", u_errorName(status));
    return icu::FilteredNormalizer2(*plain, everything_else);
  }();
  return form;
}

const icu::Normalizer2& normalizer(NormalForm form) {
  return form == NormalForm::kNfkc ? nfkc_keeping_jamo() : nfc();
}

// U+FFA0..FFDC in the order of U+3131..3163, with gaps; U+FFA0 is the filler U+3164.
char32_t full_width_jamo(char32_t c) {
  if (c == 0xFFA0) return 0x3164;
  if (c >= 0xFFA1 && c <= 0xFFBE) return c - 0xFFA1 + 0x3131;
  const char32_t column = (c - 0xFFC0) & 7, row = (c - 0xFFC0) >> 3;  // rows of six vowels
  if (c < 0xFFC0 || c > 0xFFDC || column < 2 || (row == 3 && column > 4)) return c;
  return 0x314F + row * 6 + column - 2;
}

// Half-width and compatibility jamo take three bytes both, so offsets stay.
std::string widen_jamo(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const size_t begin = i;
    const char32_t c = decode_utf8(text, i);
    if (c >= kFirstHalfWidthJamo && c <= kLastHalfWidthJamo) {
      append_utf8(full_width_jamo(c), out);
    } else {
      out.append(text.substr(begin, i - begin));
    }
  }
  return out;
}

bool has_half_width_jamo(std::string_view text) {
  for (size_t i = text.find('\xEF'); i < text.size(); i = text.find('\xEF', i + 1)) {
    size_t position = i;
    const char32_t c = decode_utf8(text, position);
    if (full_width_jamo(c) != c) return true;
  }
  return false;
}

// Length of the next part of `text` that can be normalised alone.
size_t part_length(std::string_view text, const icu::Normalizer2& form) {
  if (text.size() <= kChunk) return text.size();
  for (size_t end = kChunk; end > 0; --end) {
    if ((static_cast<uint8_t>(text[end]) & 0xC0) == 0x80) continue;
    size_t position = end;
    if (form.hasBoundaryBefore(static_cast<UChar32>(decode_utf8(text, position)))) return end;
  }
  return kChunk;
}

icu::StringPiece piece(std::string_view text) {
  return {text.data(), static_cast<int32_t>(text.size())};
}

}  // namespace

bool is_normal(std::string_view text, NormalForm form) {
  if (form == NormalForm::kNone) return true;
  if (form == NormalForm::kNfkc && has_half_width_jamo(text)) return false;
  const icu::Normalizer2& icu_form = normalizer(form);
  while (!text.empty()) {
    const std::string_view part = text.substr(0, part_length(text, icu_form));
    UErrorCode status = U_ZERO_ERROR;
    if (!icu_form.isNormalizedUTF8(piece(part), status) || U_FAILURE(status)) return false;
    text.remove_prefix(part.size());
  }
  return true;
}

std::string to_normal_form(std::string_view text, NormalForm form, OffsetMap* map) {
  if (form == NormalForm::kNone) return std::string(text);
  const std::string widened = form == NormalForm::kNfkc ? widen_jamo(text) : std::string();
  if (form == NormalForm::kNfkc) text = widened;
  const icu::Normalizer2& icu_form = normalizer(form);
  std::string out;
  out.reserve(text.size());
  icu::StringByteSink<std::string> sink(&out);
  for (size_t begin = 0; begin < text.size();) {
    const std::string_view rest = text.substr(begin);
    const std::string_view part = rest.substr(0, part_length(rest, icu_form));
    const size_t target = out.size();
    icu::Edits edits;
    UErrorCode status = U_ZERO_ERROR;
    icu_form.normalizeUTF8(0, piece(part), sink, map != nullptr ? &edits : nullptr, status);
    HW_CHECK(U_SUCCESS(status), "ICU: {}", u_errorName(status));
    if (map != nullptr) {
      auto change = edits.getFineChangesIterator();
      while (change.next(status)) {
        const size_t from = begin + static_cast<size_t>(change.sourceIndex());
        const size_t to = target + static_cast<size_t>(change.destinationIndex());
        map->add_change({from, from + static_cast<size_t>(change.oldLength())},
                        {to, to + static_cast<size_t>(change.newLength())});
      }
    }
    begin += part.size();
  }
  return out;
}

std::string shorten_jamo_runs(std::string_view text, int64_t limit, OffsetMap* map) {
  std::string out;
  out.reserve(text.size());
  char32_t previous = 0;
  int64_t run = 0;
  for (size_t i = 0; i < text.size();) {
    const size_t begin = i;
    const char32_t c = decode_utf8(text, i);
    const bool jamo = c >= kFirstJamo && c <= kLastJamo;
    run = jamo && c == previous ? run + 1 : 1;
    previous = c;
    if (!jamo || run <= limit) {
      out.append(text.substr(begin, i - begin));
    } else if (map != nullptr) {
      map->add_change({begin, i}, {out.size(), out.size()});
    }
  }
  return out;
}

}  // namespace headwater
