#include "text/basic_normalizer.h"

#include <algorithm>

#include "text/unicode_rules.h"
#include "text/utf8.h"

namespace headwater {
namespace {

constexpr char32_t kCapitalSigma = 0x3A3, kSmallSigma = 0x3C3, kFinalSigma = 0x3C2;

uint32_t pack(CharKind kind, uint32_t expansion = 0) {
  return (expansion << 3) | static_cast<uint32_t>(kind);
}

CharKind word_kind(const UnicodeRules& rules, char32_t c) {
  return rules.is_punctuation(c) ? CharKind::kIsolated : CharKind::kWord;
}

// What lower case and accent stripping make of one code point, before any mark is removed.
std::u32string fold(const UnicodeRules& rules, const NormalizerOptions& options, char32_t c) {
  std::u32string folded = {c};
  const auto apply = [&](std::u32string (UnicodeRules::*step)(char32_t) const) {
    std::u32string next;
    for (const char32_t x : folded) next += (rules.*step)(x);
    folded = std::move(next);
  };
  // The authors' code lowers first, the other dialect decomposes first.
  const bool electra = options.dialect == Dialect::kElectra;
  if (electra && options.lower_case) apply(&UnicodeRules::lower);
  if (options.strip_accents) apply(&UnicodeRules::decompose);
  if (!electra && options.lower_case) apply(&UnicodeRules::lower);
  return folded;
}

// A capital sigma is final when a cased letter stands before it and none behind it in the same
// white-space-separated word, not counting case-ignorable characters (Unicode standard, table
// 3-17).
class SigmaContext {
 public:
  SigmaContext(const BasicNormalizer& normalizer, std::string_view text)
      : normalizer_(normalizer), text_(text) {}

  bool is_final(size_t begin, size_t end) const { return cased_before(begin) && !cased_from(end); }

 private:
  enum class Verdict { kYes, kNo, kLookFurther };
  Verdict judge(char32_t c) const {
    const CharKind kind = normalizer_.entry(c).kind;
    if (kind == CharKind::kSpace) return Verdict::kNo;
    if (kind == CharKind::kDropped || UnicodeRules::is_case_ignorable(c))
      return Verdict::kLookFurther;
    return UnicodeRules::is_cased(c) ? Verdict::kYes : Verdict::kNo;
  }
  bool cased_before(size_t position) const {
    while (position > 0) {
      do --position;
      while ((static_cast<uint8_t>(text_[position]) & 0xC0) == 0x80);
      size_t at = position;
      const Verdict verdict = judge(decode_utf8(text_, at));
      if (verdict != Verdict::kLookFurther) return verdict == Verdict::kYes;
    }
    return false;
  }
  bool cased_from(size_t position) const {
    while (position < text_.size()) {
      const Verdict verdict = judge(decode_utf8(text_, position));
      if (verdict != Verdict::kLookFurther) return verdict == Verdict::kYes;
    }
    return false;
  }

  const BasicNormalizer& normalizer_;
  std::string_view text_;
};

}  // namespace

BasicNormalizer::BasicNormalizer(NormalizerOptions options)
    : options_(options), table_(pack(CharKind::kDropped)) {
  build();
}

void BasicNormalizer::build() {
  const UnicodeRules rules(options_.dialect);
  const auto classify = [&](char32_t c) {
    if (rules.is_space(c)) return pack(CharKind::kSpace);
    if (rules.is_dropped(c)) return pack(CharKind::kDropped);
    if (options_.lower_case || options_.strip_accents)
      return pack_mapping(c, rules.is_ideograph(c));
    return pack(rules.is_ideograph(c) ? CharKind::kIsolated : word_kind(rules, c));
  };
  UnicodeRules::for_each_run([&](char32_t first, char32_t last, bool uniform) {
    if (uniform) return table_.set_range(first, last, classify(first));
    for (char32_t c = first; c <= last; ++c) table_.set(c, classify(c));
  });
}

uint32_t BasicNormalizer::pack_mapping(char32_t c, bool ideograph) {
  const UnicodeRules rules(options_.dialect);
  if (c == kCapitalSigma && options_.lower_case && options_.dialect == Dialect::kElectra)
    return pack(CharKind::kContextual);
  std::vector<Mapped> mapped;
  for (const char32_t x : fold(rules, options_, c)) {
    if (options_.strip_accents && rules.is_accent(x)) continue;
    // A mark that stays may have to change places with its neighbours.
    if (options_.strip_accents && rules.combining_class(x) != 0) return pack(CharKind::kContextual);
    mapped.push_back({x, ideograph ? CharKind::kIsolated : word_kind(rules, x)});
  }
  if (mapped.empty()) return pack(CharKind::kDropped);
  if (mapped.size() == 1 && mapped[0].code_point == c) return pack(mapped[0].kind);
  const uint32_t place = static_cast<uint32_t>(expansions_.size());
  expansions_.push_back({static_cast<char32_t>(mapped.size()), CharKind::kMapped});
  expansions_.insert(expansions_.end(), mapped.begin(), mapped.end());
  return pack(CharKind::kMapped, place);
}

void BasicNormalizer::normalize(std::string_view text, std::vector<NormalizedChar>& out) const {
  out.clear();
  for (size_t position = 0; position < text.size();) {
    const size_t begin = position;
    const char32_t c = decode_utf8(text, position);
    const Entry e = entry(c);
    switch (e.kind) {
      case CharKind::kDropped: break;
      case CharKind::kSpace:
      case CharKind::kWord:
      case CharKind::kIsolated: out.push_back({c, e.kind, begin, position}); break;
      case CharKind::kMapped:
        for (const Mapped& m : expansion(e)) out.push_back({m.code_point, m.kind, begin, position});
        break;
      case CharKind::kContextual: {
        if (c != kCapitalSigma) return normalize_decomposed(text, out);
        const bool final = SigmaContext(*this, text).is_final(begin, position);
        out.push_back({final ? kFinalSigma : kSmallSigma, CharKind::kWord, begin, position});
        break;
      }
    }
  }
}

// The same with the canonical order of marks, for the few texts where a mark with a combining class
// survives stripping (Hangul tone marks, viramas, musical signs).
void BasicNormalizer::normalize_decomposed(std::string_view text,
                                           std::vector<NormalizedChar>& out) const {
  const UnicodeRules rules(options_.dialect);
  struct Marked {
    NormalizedChar value;
    int combining_class;
  };
  std::vector<Marked> run;  // a starter's marks, not yet in order
  out.clear();
  const auto flush = [&] {
    std::stable_sort(run.begin(), run.end(), [](const Marked& a, const Marked& b) {
      return a.combining_class < b.combining_class;
    });
    for (const Marked& mark : run)
      if (!rules.is_accent(mark.value.code_point)) out.push_back(mark.value);
    run.clear();
  };
  for (size_t position = 0; position < text.size();) {
    const size_t begin = position;
    const char32_t c = decode_utf8(text, position);
    if (rules.is_space(c)) {
      flush();
      out.push_back({c, CharKind::kSpace, begin, position});
    } else if (!rules.is_dropped(c)) {
      const bool ideograph = rules.is_ideograph(c);
      std::u32string folded = fold(rules, options_, c);
      if (c == kCapitalSigma && entry(c).kind == CharKind::kContextual &&
          SigmaContext(*this, text).is_final(begin, position))
        folded = {kFinalSigma};
      for (const char32_t x : folded) {
        const int combining_class = rules.combining_class(x);
        if (combining_class == 0) flush();
        const CharKind kind = ideograph ? CharKind::kIsolated : word_kind(rules, x);
        run.push_back({{x, kind, begin, position}, combining_class});
        if (combining_class == 0) flush();
      }
    }
  }
  flush();
}

}  // namespace headwater
