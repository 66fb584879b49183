#include "graph/attrs.h"

#include <fmt/format.h>

#include "graph/graph.h"

namespace headwater {
namespace {

template <class T>
const T& get(const std::map<std::string, AttrValue, std::less<>>& values, std::string_view name,
             std::string_view type) {
  const auto it = values.find(name);
  if (it == values.end()) throw GraphError(fmt::format("attribute {} is missing", name));
  const T* value = std::get_if<T>(&it->second);
  if (value == nullptr) throw GraphError(fmt::format("attribute {} must be {}", name, type));
  return *value;
}

std::string value_text(const AttrValue& value) {
  if (const bool* b = std::get_if<bool>(&value)) return *b ? "true" : "false";
  if (const int64_t* i = std::get_if<int64_t>(&value)) return fmt::format("{}", *i);
  if (const double* d = std::get_if<double>(&value)) {
    // The shortest form that reads back to the same value, marked as a number with a fraction.
    const std::string text = fmt::format("{}", *d);
    return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
  }
  if (const std::string* s = std::get_if<std::string>(&value)) return quoted_text(*s);
  return fmt::format("[{}]", fmt::join(std::get<std::vector<int64_t>>(value), ", "));
}

}  // namespace

std::string quoted_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\' || c == '\n') out += '\\';
    out += c == '\n' ? 'n' : c;
  }
  return out + "\"";
}

bool Attrs::get_bool(std::string_view name) const {
  return get<bool>(values_, name, "a truth value");
}
int64_t Attrs::get_int(std::string_view name) const {
  return get<int64_t>(values_, name, "an integer");
}
double Attrs::get_double(std::string_view name) const {
  return get<double>(values_, name, "a number");
}
const std::string& Attrs::get_text(std::string_view name) const {
  return get<std::string>(values_, name, "a text");
}
const std::vector<int64_t>& Attrs::get_ints(std::string_view name) const {
  return get<std::vector<int64_t>>(values_, name, "a list of integers");
}

std::string Attrs::text() const {
  if (values_.empty()) return {};
  std::string text = " {";
  bool first = true;
  for (const auto& [name, value] : values_) {
    text += fmt::format("{}{} = {}", first ? "" : ", ", name, value_text(value));
    first = false;
  }
  return text + "}";
}

}  // namespace headwater
