// The tokenizer files of a Hugging Face directory: vocab.txt, tokenizer.json, tokenizer_config.json
// and special_tokens_map.json, in the form that transformers 4 and 5 both load.
//
// Only writes; tokenising is src/tokens. What Hugging Face's files cannot express is named in
// `notes` and not silently dropped.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "io/file.h"
#include "tokens/tokenizer.h"
#include "tokens/vocabulary.h"

namespace headwater {

struct HfTokenizerFiles {
  std::vector<std::pair<std::string, std::string>> files;  // name, content
  std::vector<std::string> notes;                          // for the person who exports
};

// `max_length` in tokens: the rows of the model's position table.
Result<HfTokenizerFiles> hf_tokenizer_files(const Vocabulary& vocabulary,
                                            const TokenizerOptions& options, int64_t max_length);

// The tokenizer files in a folder, as they are: what a model takes along. Name, content; none where
// there is none.
Result<std::vector<std::pair<std::string, std::string>>> read_tokenizer_folder(
    FileSystem& fs, const std::string& folder);

}  // namespace headwater
