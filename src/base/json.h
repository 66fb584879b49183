// JSON behind one door: forward types here, nlohmann/json.hpp only in the .cc files that need it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/error.h"

namespace headwater {

using Json =
    nlohmann::ordered_json;  // keeps the order of keys, so that files come back as they were

// Parses a whole text. The error names `where` (a file or option) with line and column. Nesting is
// bounded to 100.
Result<Json> parse_json(std::string_view text, std::string_view where);

// Compact (indent < 0) or indented text; Korean text is written as UTF-8, not as escapes.
std::string dump_json(const Json& json, int indent = -1);

}  // namespace headwater
