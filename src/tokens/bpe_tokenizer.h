// Text to byte-level BPE tokens, token for token as Hugging Face's GPT2TokenizerFast: GPT-2's words
// (text/gpt2_splitter.h), each merged by itself.
//
// A BpeTokenizer is immutable and may be used from any number of threads. Texts are valid UTF-8:
// the caller checks once, where bytes enter (text/utf8.h). What was encoded is decoded byte for
// byte, unless the options rewrite it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "tokens/bpe_model.h"
#include "tokens/tokenizer.h"

namespace headwater {

class BpeTokenizer {
 public:
  // Fails when an option is set that only WordPiece has, or is out of range.
  static Result<BpeTokenizer> create(BpeModel model, TokenizerOptions options = {});

  // Appends the ids of `text`.
  void append_ids(std::string_view text, std::vector<int32_t>& ids) const;
  // The same ids with the bytes each token stands for.
  std::vector<Token> tokenize(std::string_view text) const;

  // The bytes that the tokens stand for, which need not be valid UTF-8. Fails on an id that is
  // none.
  Result<std::string> decode(std::span<const int32_t> ids) const;

  const BpeModel& model() const;
  const TokenizerOptions& options() const;
  std::optional<int32_t> end_of_text() const;  // <|endoftext|>

 private:
  struct Tables;
  explicit BpeTokenizer(std::shared_ptr<const Tables> tables) : tables_(std::move(tables)) {}
  std::shared_ptr<const Tables> tables_;
};

}  // namespace headwater
