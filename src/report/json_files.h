// Looking into JSON that others wrote, where a key may be missing or of another kind.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "io/file.h"

namespace headwater {

Result<Json> read_object(FileSystem& fs, const std::string& path);  // an error if it is none
Json member(const Json& object, std::string_view key);              // null where there is none
std::string text_of(const Json& value);                             // empty of no text
int64_t whole_of(const Json& value);                                // 0 of no whole number

}  // namespace headwater
