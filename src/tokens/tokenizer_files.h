// Finds out what tokenizer a path holds, and reads it: Hugging Face's tokenizer.json, GPT-2's
// vocab.json with merges.txt, a WordPiece vocabulary, or a folder with any of these. Content
// decides, names only where files must be found beside one another.
//
// A tokenizer.json with anything in it that this program does not do exactly is an error that names
// it.
#pragma once

#include <string>
#include <variant>

#include "base/error.h"
#include "base/json.h"
#include "io/file.h"
#include "tokens/bpe_model.h"
#include "tokens/tokenizer.h"
#include "tokens/vocabulary.h"

namespace headwater {

struct TokenizerFiles {
  std::variant<Vocabulary, BpeModel> vocabulary;  // WordPiece, or byte-level BPE
  std::string options;  // that the files ask for: a JSON object of TokenizerOptions
  std::string origin;   // the file that asks
};

Result<TokenizerFiles> read_tokenizer_files(FileSystem& fs, const std::string& path);

// The content of a tokenizer.json; `name` stands for the file in messages.
Result<TokenizerFiles> read_tokenizer_json(std::string_view content, const std::string& name);

// `given` with what the files ask for, in the fields that were not given: those that `origins`
// (which describes `given` among others) has as default; without it, those with their default
// value.
Result<TokenizerOptions> options_for(const TokenizerFiles& files, TokenizerOptions given,
                                     const Fields* origins = nullptr);

}  // namespace headwater
