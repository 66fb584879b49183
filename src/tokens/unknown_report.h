// Counts what a run of the tokenizer gave, and explains an [UNK] rate that is too high: the cause
// is looked for in a sample of the lines that have unknown words.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokens/any_tokenizer.h"

namespace headwater {

class UnknownReport {
 public:
  static constexpr double kAlarmRate = 0.02;  // share of [UNK] among all tokens

  // Takes one line and the ids that `tokenizer` gave for it.
  void add(const Tokenizer& tokenizer, std::string_view line, std::span<const int32_t> ids);
  void add(const AnyTokenizer& tokenizer, std::string_view line, std::span<const int32_t> ids);
  void merge(const UnknownReport& other);

  int64_t lines() const { return lines_; }
  int64_t tokens() const { return tokens_; }
  int64_t unknown() const { return unknown_; }
  int64_t denormal_lines() const { return denormal_lines_; }  // not in normal form C
  double unknown_rate() const {
    return tokens_ == 0 ? 0 : static_cast<double>(unknown_) / static_cast<double>(tokens_);
  }

  // What a person should know, a sentence each; empty when all is well.
  std::vector<std::string> warnings(const Tokenizer& tokenizer) const;
  std::vector<std::string> warnings(const AnyTokenizer& tokenizer) const;

 private:
  enum Cause : size_t { kSplitHangul, kDecomposed, kTooLong, kEmoji, kForeign, kCauses };
  static Cause cause_of(const Tokenizer& tokenizer, std::string_view word);
  std::string advice(const Tokenizer& tokenizer, Cause cause) const;
  void add_known(std::string_view line, int64_t tokens);  // no [UNK] among them
  // The one about normal forms, which concerns every tokenizer.
  std::optional<std::string> normal_form_warning(const TokenizerOptions& options) const;

  int64_t lines_ = 0, tokens_ = 0, unknown_ = 0, denormal_lines_ = 0;
  int64_t sampled_lines_ = 0;
  std::array<int64_t, kCauses> causes_{};
  std::vector<std::string> examples_;  // unknown words, a few
};

}  // namespace headwater
