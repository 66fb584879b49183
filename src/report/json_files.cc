#include "report/json_files.h"

#include <nlohmann/json.hpp>

namespace headwater {

Result<Json> read_object(FileSystem& fs, const std::string& path) {
  constexpr int64_t kLargest = int64_t{64} << 20;  // bytes
  HW_ASSIGN_OR_RETURN(const std::string text, read_file(fs, path, kLargest));
  HW_ASSIGN_OR_RETURN(Json json, parse_json(text, path));
  if (!json.is_object()) return fail(Code::kInvalidArgument, "{}: not a JSON object", path);
  return json;
}

Json member(const Json& object, std::string_view key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found == object.end() ? Json() : *found;
}

std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : std::string();
}

int64_t whole_of(const Json& value) { return value.is_number_integer() ? value.get<int64_t>() : 0; }

}  // namespace headwater
