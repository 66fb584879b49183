#include "tokens/large_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace headwater {
namespace {

constexpr int kMaxDepth = 100;

std::string position(std::string_view text, size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  return fmt::format("line {}, column {}", line, before.size() - (before.rfind('\n') + 1) + 1);
}

}  // namespace

Result<nlohmann::json> parse_large_json(std::string_view text, std::string_view where) {
  bool too_deep = false;
  // Values that are too deep are dropped while they are read, so that nothing deep is ever built.
  const auto bound_depth = [&](int depth, auto, const nlohmann::json&) {
    too_deep |= depth > kMaxDepth;
    return depth <= kMaxDepth;
  };
  try {
    nlohmann::json json = nlohmann::json::parse(text.begin(), text.end(), bound_depth);
    if (too_deep) {
      return fail(Code::kInvalidArgument, "{}: JSON is nested deeper than {} levels", where,
                  kMaxDepth);
    }
    return json;
  } catch (const nlohmann::detail::parse_error& e) {
    return fail(Code::kInvalidArgument, "{}: not valid JSON at {}", where,
                position(text, e.byte == 0 ? 0 : e.byte - 1));
  } catch (const nlohmann::detail::exception& e) {  // a number out of range
    return fail(Code::kInvalidArgument, "{}: not valid JSON: {}", where, e.what());
  }
}

}  // namespace headwater
