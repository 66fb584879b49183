#include "base/json.h"

#include <nlohmann/json.hpp>

namespace headwater {
namespace {
constexpr int kMaxDepth = 100;

// Line and column (from 1) of a byte offset.
std::string position(std::string_view text, size_t offset) {
  offset = std::min(offset, text.size());
  int64_t line = 1;
  size_t start = 0;
  for (size_t i = 0; i < offset; ++i) {
    if (text[i] == '\n') ++line, start = i + 1;
  }
  return fmt::format("line {}, column {}", line, offset - start + 1);
}

int64_t nesting_depth(std::string_view text) {
  int64_t depth = 0, deepest = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      else if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      deepest = std::max(deepest, ++depth);
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return deepest;
}
}  // namespace

Result<Json> parse_json(std::string_view text, std::string_view where) {
  if (nesting_depth(text) > kMaxDepth) {
    return fail(Code::kInvalidArgument, "{}: JSON is nested deeper than {} levels", where,
                kMaxDepth);
  }
  try {
    return Json::parse(text.begin(), text.end());
  } catch (const nlohmann::detail::parse_error& e) {
    return fail(Code::kInvalidArgument, "{}: not valid JSON at {}", where,
                position(text, e.byte == 0 ? 0 : e.byte - 1));
  } catch (const nlohmann::detail::exception& e) {  // a number out of range
    return fail(Code::kInvalidArgument, "{}: not valid JSON: {}", where, e.what());
  }
}

std::string dump_json(const Json& json, int indent) {
  return json.dump(indent, ' ', false, nlohmann::detail::error_handler_t::replace);
}

}  // namespace headwater
