// A stream of lines to a stream of tokens: one line in, one line out, in order, on all threads,
// with bounded memory.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"
#include "io/file.h"
#include "tokens/any_tokenizer.h"
#include "tokens/unknown_report.h"

namespace headwater {

enum class TokenFormat : uint8_t {
  kIds,     // ids separated by blanks
  kTokens,  // tokens separated by blanks
  kJson,    // {"ids": [...], "tokens": [...], "offsets": [[begin, end], ...]}, bytes of the line
};

struct TokenStreamOptions {
  TokenFormat format = TokenFormat::kIds;
  bool add_special_tokens = false;  // WordPiece: [CLS] in front, [SEP] behind; offsets [0, 0]
  bool replace_invalid = false;     // U+FFFD for what is not UTF-8, instead of an error
  std::string name;                 // of the input, in messages
  int64_t block_bytes = int64_t{4} << 20;  // read, tokenised and written at a time
};

struct TokenStreamCounts {
  UnknownReport report;
  int64_t bytes = 0;
  int64_t replaced_lines = 0;
  std::string first_replaced;  // "file: line 3, byte 17"; empty when none
  int64_t saved_by_emoji = 0;  // [UNK] that isolate_emoji saved
};

// A line ends with LF or CR LF; the last one may lack its end. Lines over 1 GiB are an error.
Result<TokenStreamCounts> tokenize_stream(ByteSource& source, ByteSink& sink,
                                          const AnyTokenizer& tokenizer,
                                          const TokenStreamOptions& options);

}  // namespace headwater
