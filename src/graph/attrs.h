// Attributes of a node: the compile-time constants of an operator (axes, rates, epsilons, names).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace headwater {

// The text in quotes, on one line: quotes, backslashes and line ends are escaped.
std::string quoted_text(std::string_view text);

using AttrValue = std::variant<bool, int64_t, double, std::string, std::vector<int64_t>>;

// A small sorted map. get_*() throws GraphError when the attribute is missing or of another type:
// an operator checks its attributes in infer(), so kernels may rely on them.
class Attrs {
 public:
  Attrs() = default;
  Attrs(std::initializer_list<std::pair<const std::string, AttrValue>> values) : values_(values) {}

  bool has(std::string_view name) const { return values_.find(name) != values_.end(); }
  bool get_bool(std::string_view name) const;
  int64_t get_int(std::string_view name) const;
  double get_double(std::string_view name) const;
  const std::string& get_text(std::string_view name) const;
  const std::vector<int64_t>& get_ints(std::string_view name) const;
  void set(std::string name, AttrValue value) { values_[std::move(name)] = std::move(value); }
  const std::map<std::string, AttrValue, std::less<>>& all() const { return values_; }

  friend bool operator==(const Attrs&, const Attrs&) = default;
  // " {axis = 1, rate = 0.1}"; empty when there are none. Read back by parse_graph().
  std::string text() const;

 private:
  std::map<std::string, AttrValue, std::less<>> values_;
};

}  // namespace headwater
