// A stream of lines of ids back to text: the way back of token_stream.h.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"
#include "io/file.h"
#include "tokens/any_tokenizer.h"

namespace headwater {

struct DecodeStreamOptions {
  bool json = false;  // a JSON text a line, so that line ends in it and what is not UTF-8 (as
                      // U+FFFD) keep to it
  std::string name;   // of the input, in messages
  int64_t block_bytes = int64_t{4} << 20;
};

// Ids are numbers separated by blanks. Anything else in a line is an error with its number.
Result<> decode_stream(ByteSource& source, ByteSink& sink, const AnyTokenizer& tokenizer,
                       const DecodeStreamOptions& options);

}  // namespace headwater
