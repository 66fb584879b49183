#include "tokens/unknown_report.h"

#include <algorithm>

#include "text/emoji.h"
#include "text/normal_form.h"
#include "text/utf8.h"

namespace headwater {
namespace {

constexpr int64_t kSampledLines = 200;  // per report, before merging
constexpr size_t kExamples = 3;
constexpr size_t kExampleBytes = 60;  // a longer word makes no readable example

bool has_hangul_syllable(std::string_view word) {
  for (size_t i = 0; i < word.size();) {
    const char32_t c = decode_utf8(word, i);
    if (c >= 0xAC00 && c <= 0xD7A3) return true;
  }
  return false;
}

}  // namespace

void UnknownReport::add(const Tokenizer& tokenizer, std::string_view line,
                        std::span<const int32_t> ids) {
  add_known(line, static_cast<int64_t>(ids.size()));
  const auto unknown = std::count(ids.begin(), ids.end(), tokenizer.unk_id());
  unknown_ += unknown;
  if (unknown == 0 || sampled_lines_ == kSampledLines) return;
  ++sampled_lines_;
  for (const Token& token : tokenizer.tokenize(line)) {
    if (token.id != tokenizer.unk_id()) continue;
    const std::string_view word = line.substr(token.begin, token.end - token.begin);
    ++causes_[cause_of(tokenizer, word)];
    if (examples_.size() < kExamples && word.size() <= kExampleBytes &&
        std::find(examples_.begin(), examples_.end(), word) == examples_.end())
      examples_.emplace_back(word);
  }
}

void UnknownReport::add(const AnyTokenizer& tokenizer, std::string_view line,
                        std::span<const int32_t> ids) {
  if (const Tokenizer* pieces = tokenizer.word_pieces()) return add(*pieces, line, ids);
  add_known(line, static_cast<int64_t>(ids.size()));  // byte-level BPE knows every text
}

void UnknownReport::add_known(std::string_view line, int64_t tokens) {
  ++lines_;
  tokens_ += tokens;
  if (!is_normal(line, NormalForm::kNfc)) ++denormal_lines_;
}

void UnknownReport::merge(const UnknownReport& other) {
  lines_ += other.lines_;
  tokens_ += other.tokens_;
  unknown_ += other.unknown_;
  denormal_lines_ += other.denormal_lines_;
  sampled_lines_ += other.sampled_lines_;
  for (size_t i = 0; i < kCauses; ++i) causes_[i] += other.causes_[i];
  for (const std::string& word : other.examples_)
    if (examples_.size() < kExamples &&
        std::find(examples_.begin(), examples_.end(), word) == examples_.end())
      examples_.push_back(word);
}

UnknownReport::Cause UnknownReport::cause_of(const Tokenizer& tokenizer, std::string_view word) {
  if (*tokenizer.options().strip_accents && has_hangul_syllable(word)) return kSplitHangul;
  if (tokenizer.options().normalize == "none" && !is_normal(word, NormalForm::kNfc))
    return kDecomposed;
  if (count_code_points(word) > tokenizer.options().max_word_chars) return kTooLong;
  return find_emoji(word, 0) ? kEmoji : kForeign;
}

std::string UnknownReport::advice(const Tokenizer& tokenizer, Cause cause) const {
  switch (cause) {
    case kSplitHangul:
      return "lower-casing with accent stripping takes Hangul syllables apart into jamo, which "
             "this "
             "vocabulary does not hold; use --no-lower-case or --no-strip-accents";
    case kDecomposed:
      return "the text is not in Unicode normal form C (file names and texts from macOS often are "
             "not); use --normalize nfc";
    case kTooLong:
      return fmt::format("words longer than {} characters; see --max-word-chars",
                         tokenizer.options().max_word_chars);
    case kEmoji:
      return tokenizer.options().isolate_emoji
                 ? "emoji that the vocabulary does not hold"
                 : "emoji glued to words make the whole word unknown; see --isolate-emoji";
    default:
      return fmt::format(
          "characters that the vocabulary {} does not hold; is it the vocabulary for this text?",
          tokenizer.vocabulary().name());
  }
}

std::vector<std::string> UnknownReport::warnings(const Tokenizer& tokenizer) const {
  std::vector<std::string> out;
  if (unknown_rate() > kAlarmRate) {
    const auto most = std::max_element(causes_.begin(), causes_.end());
    std::string line =
        fmt::format("{:.1f} % of {} tokens are [UNK] (more than {:.0f} % is unusual)",
                    100 * unknown_rate(), tokens_, 100 * kAlarmRate);
    if (!examples_.empty()) line += fmt::format(", such as '{}'", fmt::join(examples_, "', '"));
    if (*most > 0) {
      const Cause cause = static_cast<Cause>(most - causes_.begin());
      line += ". Likely cause: " + advice(tokenizer, cause);
    }
    out.push_back(std::move(line));
  }
  if (auto warning = normal_form_warning(tokenizer.options())) out.push_back(*std::move(warning));
  return out;
}

std::vector<std::string> UnknownReport::warnings(const AnyTokenizer& tokenizer) const {
  if (const Tokenizer* pieces = tokenizer.word_pieces()) return warnings(*pieces);
  const auto warning = normal_form_warning(tokenizer.options());
  return warning ? std::vector<std::string>{*warning} : std::vector<std::string>();
}

std::optional<std::string> UnknownReport::normal_form_warning(
    const TokenizerOptions& options) const {
  if (denormal_lines_ == 0 || options.normalize != "none") return std::nullopt;
  return fmt::format(
      "{} of {} lines are not in Unicode normal form C: the same word written in two ways gets two "
      "different sets of tokens; --normalize nfc makes them one",
      denormal_lines_, lines_);
}

}  // namespace headwater
