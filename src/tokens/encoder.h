// Model inputs from one text or two: [CLS] a [SEP], or [CLS] a [SEP] b [SEP] with token types 0 and
// 1, truncated and padded as Hugging Face's tokenizers do it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "tokens/tokenizer.h"

namespace headwater {

enum class Truncation : uint8_t {
  kNone,
  kLongestFirst,  // the longer text gives way until both are equally long, then both
  kOnlyFirst,
  kOnlySecond,
};

struct EncodeOptions {
  int64_t max_length = 0;  // with special tokens; 0: no limit, no padding
  Truncation truncation = Truncation::kLongestFirst;
  bool pad = false;  // with [PAD] to max_length
};

// Three lists of one length.
struct Encoding {
  std::vector<int32_t> input_ids, token_type_ids, attention_mask;
};

class Encoder {
 public:
  // Fails when the vocabulary lacks a special token.
  static Result<Encoder> create(Tokenizer tokenizer);

  // Fails when the text cannot be made to fit: max_length below the special tokens, or a text that
  // must stay whole.
  Result<Encoding> encode(std::string_view text, const EncodeOptions& options = {}) const;
  Result<Encoding> encode_pair(std::string_view first, std::string_view second,
                               const EncodeOptions& options = {}) const;

  const Tokenizer& tokenizer() const { return tokenizer_; }
  const SpecialIds& special_ids() const { return special_; }

 private:
  Encoder(Tokenizer tokenizer, SpecialIds special)
      : tokenizer_(std::move(tokenizer)), special_(special) {}
  Result<Encoding> assemble(std::vector<int32_t> first, std::optional<std::vector<int32_t>> second,
                            const EncodeOptions& options) const;

  Tokenizer tokenizer_;
  SpecialIds special_;
};

}  // namespace headwater
