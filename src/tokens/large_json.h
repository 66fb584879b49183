// JSON files of tokenizers: objects of many thousand keys, which base's Json, that keeps the order
// of keys, would look up from the front.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/error.h"
#include "io/file.h"

namespace headwater {

inline constexpr int64_t kMaxTokenizerFileBytes = int64_t{64} << 20;

// Nesting is bounded; the error of a damaged text names `where` with line and column.
Result<nlohmann::json> parse_large_json(std::string_view text, std::string_view where);

}  // namespace headwater
