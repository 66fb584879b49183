// Ids to text while they come, one after the other. Byte-level tokens may hold parts of a
// character: what is not whole yet waits for the next token, so that every piece is valid UTF-8.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"
#include "tokens/any_tokenizer.h"

namespace headwater {

class TextStream {
 public:
  // `tokenizer` must outlive this.
  explicit TextStream(const AnyTokenizer& tokenizer) : tokenizer_(tokenizer) {}

  // What is known of the text after this token and was not before. Bytes that no character has
  // become U+FFFD. Fails on an id that is none.
  Result<std::string> add(int32_t id);
  // At the end: U+FFFD for a character that was never finished.
  std::string finish();

 private:
  const AnyTokenizer& tokenizer_;
  std::string waiting_;  // the beginning of a character
  bool begun_ = false;
};

}  // namespace headwater
