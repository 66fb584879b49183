#include "base/described.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <type_traits>

namespace headwater {
namespace {

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};

// One value on its way in: the field, and the name by which the person wrote it.
struct Input {
  const Field& field;
  std::string label;  // "--learning-rate", or "\"learning_rate\"" in JSON

  template <class... Args>
  tl::unexpected<Error> wants(fmt::format_string<Args...> format, Args&&... args) const {
    return fail(Code::kInvalidArgument, "{} {}", label,
                fmt::format(format, std::forward<Args>(args)...));
  }
};

Result<> check_range(const Input& input, double value, std::string_view text) {
  const Field& field = input.field;
  const bool low =
      field.minimum && (field.exclusive_minimum ? value <= *field.minimum : value < *field.minimum);
  if (!low && !(field.maximum && value > *field.maximum)) return {};
  std::string range;
  if (field.minimum)
    range = fmt::format("{} {}", field.exclusive_minimum ? "over" : "at least", *field.minimum);
  if (field.maximum)
    range += fmt::format("{}at most {}", range.empty() ? "" : " and ", *field.maximum);
  return input.wants("must be {}, got {}", range, text);
}

Result<> parse(const Input& input, std::string_view text, double& out) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    return input.wants("wants a number, got '{}'", text);
  HW_RETURN_IF_ERROR(check_range(input, value, text));
  out = value;
  return {};
}

Result<> parse(const Input& input, std::string_view text, int64_t& out) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    // 1e6 and 1000.0 are integers a person types.
    double wide = 0;
    const auto [stop, wrong] = std::from_chars(text.data(), text.data() + text.size(), wide);
    if (wrong != std::errc() || stop != text.data() + text.size() || wide != std::floor(wide) ||
        std::abs(wide) > 9e15) {
      return input.wants("wants a whole number, got '{}'", text);
    }
    value = static_cast<int64_t>(wide);
  }
  HW_RETURN_IF_ERROR(check_range(input, static_cast<double>(value), text));
  out = value;
  return {};
}

Result<> parse(const Input& input, std::string_view text, bool& out) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  const bool yes = lower == "true" || lower == "1" || lower == "yes" || lower == "on";
  const bool no = lower == "false" || lower == "0" || lower == "no" || lower == "off";
  if (!yes && !no) return input.wants("wants true or false, got '{}'", text);
  out = yes;
  return {};
}

Result<> parse(const Input& input, std::string_view text, std::string& out) {
  const auto& choices = input.field.choices;
  if (!choices.empty() && std::find(choices.begin(), choices.end(), text) == choices.end())
    return input.wants("must be one of {}, got '{}'", fmt::join(choices, ", "), text);
  if (input.field.json) {
    HW_ASSIGN_OR_RETURN(const Json value, parse_json(text, input.label));
    out = dump_json(value);
  } else {
    out = std::string(text);
  }
  return {};
}

template <class T>
Result<> parse(const Input& input, std::string_view text, std::optional<T>& out) {
  if (text == "auto" || text == "none") return out.reset(), Result<>{};
  T value{};
  HW_RETURN_IF_ERROR(parse(input, text, value));
  out = std::move(value);
  return {};
}

Result<> parse(const Input& input, std::string_view text, std::vector<std::string>& out) {
  std::string value;
  HW_RETURN_IF_ERROR(parse(input, text, value));
  out.push_back(std::move(value));
  return {};
}

Result<> assign_text(const Input& input, std::string_view text) {
  return std::visit([&](auto* target) { return parse(input, text, *target); }, input.field.target);
}

tl::unexpected<Error> wrong_type(const Input& input, const Json& value) {
  return input.wants("has the wrong type: {}", dump_json(value));
}

// Numbers and truth values go through their text form, so that JSON and flags share one parser.
Result<> assign_json(const Input& input, const Json& value) {
  const Field& field = input.field;
  if (field.is_list()) {
    if (!value.is_array()) return wrong_type(input, value);
    std::vector<std::string> items;
    for (const Json& item : value) {
      if (!item.is_string()) return wrong_type(input, value);
      HW_RETURN_IF_ERROR(parse(input, item.get_ref<const std::string&>(), items));
    }
    *std::get<std::vector<std::string>*>(field.target) = std::move(items);
    return {};
  }
  if (field.json && !value.is_string()) return assign_text(input, dump_json(value));
  if (value.is_string()) return assign_text(input, value.get_ref<const std::string&>());
  if (value.is_null()) {
    const bool optional = std::visit(
        [](auto* target) { return IsOptional<std::remove_cvref_t<decltype(*target)>>::value; },
        field.target);
    return optional ? assign_text(input, "none") : wrong_type(input, value);
  }
  const bool is_text = std::holds_alternative<std::string*>(field.target) ||
                       std::holds_alternative<std::optional<std::string>*>(field.target);
  const bool fits =
      value.is_boolean() ? field.is_bool() : value.is_number() && !field.is_bool() && !is_text;
  return fits ? assign_text(input, value.dump()) : wrong_type(input, value);
}

std::string value_text(bool value) { return value ? "true" : "false"; }
std::string value_text(int64_t value) { return fmt::format("{}", value); }
std::string value_text(double value) { return fmt::format("{}", value); }
std::string value_text(const std::string& value) { return value; }
std::string value_text(const std::vector<std::string>& value) {
  return fmt::format("{}", fmt::join(value, ","));
}
template <class T>
std::string value_text(const std::optional<T>& value) {
  if (value) return value_text(*value);
  return std::is_same_v<T, std::string> ? "none" : "auto";
}

template <class T>
Json value_json(const T& value) {
  if constexpr (IsOptional<T>::value) return value ? Json(*value) : Json(nullptr);
  else return Json(value);
}

}  // namespace

std::string fold_name(std::string_view name) {
  std::string folded(name);
  std::replace(folded.begin(), folded.end(), '-', '_');
  return folded;
}

int64_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<int64_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    int64_t diagonal = row[0]++;
    for (size_t j = 1; j <= b.size(); ++j) {
      const int64_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row[b.size()];
}

std::string nearest_name(std::string_view name, std::span<const std::string> candidates) {
  std::string best;
  int64_t best_distance = std::max<int64_t>(2, std::ssize(name) / 2);
  for (const std::string& candidate : candidates) {
    const int64_t distance = edit_distance(name, candidate);
    if (distance < best_distance) best_distance = distance, best = candidate;
  }
  if (!best.empty() || name.size() < 3) return best;
  for (const std::string& candidate : candidates) {  // a beginning, or a part, of a longer name
    if (candidate.find(name) != std::string::npos) return candidate;
  }
  return best;
}

bool Field::is_bool() const {
  return std::holds_alternative<bool*>(target) ||
         std::holds_alternative<std::optional<bool>*>(target);
}

std::string Field::text() const {
  return std::visit([](const auto* value) { return value_text(*value); }, target);
}

std::string Field::flag() const {
  if (positional && !value_name.empty()) return value_name;
  std::string kebab = name;
  std::replace(kebab.begin(), kebab.end(), '_', '-');
  return positional ? kebab : "--" + kebab;
}

FieldRef& FieldRef::alias(std::string name) {
  field_->aliases.push_back(fold_name(name));
  return *this;
}

FieldRef Fields::operator()(std::string name, FieldTarget target, std::string help) {
  HW_CHECK(find(name) == nullptr, "field {} is declared twice", name);
  Field field;
  field.name = fold_name(name);
  field.help = std::move(help);
  field.target = target;
  field.group = group_;
  if (field.is_bool()) field.negation = "no_" + field.name;
  return FieldRef(fields_.emplace_back(std::move(field)));
}

Field* Fields::find(std::string_view name) {
  const std::string folded = fold_name(name);
  for (Field& field : fields_) {
    if (field.name == folded ||
        std::find(field.aliases.begin(), field.aliases.end(), folded) != field.aliases.end())
      return &field;
  }
  return nullptr;
}

const Field* Fields::find(std::string_view name) const {
  return const_cast<Fields*>(this)->find(name);
}

std::vector<std::string> Fields::names() const {
  std::vector<std::string> names;
  for (const Field& field : fields_) {
    names.push_back(field.name);
    names.insert(names.end(), field.aliases.begin(), field.aliases.end());
  }
  return names;
}

std::string Fields::nearest(std::string_view name) const {
  return nearest_name(fold_name(name), names());
}

Result<> Fields::set_text(std::string_view name, std::string_view text, std::string_view origin) {
  Field* field = find(name);
  if (field == nullptr) {
    const std::string advice = nearest(name);
    return fail_hint(Code::kInvalidArgument,
                     advice.empty() ? "" : fmt::format("did you mean {}?", find(advice)->flag()),
                     "unknown option '{}'", name);
  }
  if (field->is_list() && field->origin != origin)
    std::get<std::vector<std::string>*>(field->target)->clear();
  HW_RETURN_IF_ERROR(assign_text({*field, field->flag()}, text));
  field->origin = std::string(origin);
  return {};
}

Result<> Fields::set_json(const Json& object, std::string_view origin) {
  return set_json(object, origin, false);
}

Result<> Fields::set_json_text(std::string_view text, std::string_view origin) {
  HW_ASSIGN_OR_RETURN(const Json object, parse_json(text, origin));
  return set_json(object, origin);
}

Result<> Fields::set_defaults(const Json& object, std::string_view origin) {
  return set_json(object, origin, true);
}

Result<> Fields::set_json(const Json& object, std::string_view origin, bool only_defaults) {
  if (!object.is_object())
    return fail(Code::kInvalidArgument, "{} is not a JSON object: {{\"name\": value, ...}}",
                origin);
  for (const auto& [key, value] : object.items()) {
    Field* field = find(key);
    if (field == nullptr) {
      const std::string advice = nearest(key);
      return in_context(Error{Code::kInvalidArgument,
                              fmt::format("unknown key \"{}\"", key),
                              advice.empty() ? "" : fmt::format("did you mean \"{}\"?", advice),
                              {}},
                        std::string(origin));
    }
    if (only_defaults && !field->is_default()) continue;
    if (auto done = assign_json({*field, fmt::format("\"{}\"", key)}, value); !done)
      return in_context(std::move(done).error(), std::string(origin));
    field->origin = std::string(origin);
  }
  return {};
}

Json Fields::to_json() const {
  Json object = Json::object();
  for (const Field& field : fields_) {
    if (field.layer) continue;
    object[field.name] =
        std::visit([](const auto* value) { return value_json(*value); }, field.target);
    if (!field.json) continue;
    auto value = parse_json(field.text(), field.name);
    if (value) object[field.name] = *std::move(value);
  }
  return object;
}

}  // namespace headwater
