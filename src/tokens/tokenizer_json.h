// A tokenizer.json, as Hugging Face's tokenizers 0.13 to 0.23 write it, to a vocabulary and
// options.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "tokens/tokenizer_files.h"

namespace headwater {

Result<TokenizerFiles> tokenizer_of_json(const nlohmann::json& json, const std::string& name);

// One added token: content and how it is found.
Result<AddedToken> added_token_of_json(const nlohmann::json& json, int64_t id,
                                       const std::string& name);

}  // namespace headwater
