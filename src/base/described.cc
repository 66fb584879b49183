#include "base/described.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

namespace headwater {
namespace {

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

Result<double> parse_double(const Field& field, std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    return fail(Code::kInvalidArgument, "{} wants a number, got '{}'", field.flag(), text);
  }
  return value;
}

Result<int64_t> parse_int(const Field& field, std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) return value;
  // 1e6 and 1000.0 are integers a person types.
  HW_ASSIGN_OR_RETURN(const double wide, parse_double(field, text));
  if (wide != std::floor(wide) || std::abs(wide) > 9e15) {
    return fail(Code::kInvalidArgument, "{} wants a whole number, got '{}'", field.flag(), text);
  }
  return static_cast<int64_t>(wide);
}

Result<bool> parse_bool(const Field& field, std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  if (lower == "true" || lower == "1" || lower == "yes" || lower == "on") return true;
  if (lower == "false" || lower == "0" || lower == "no" || lower == "off") return false;
  return fail(Code::kInvalidArgument, "{} wants true or false, got '{}'", field.flag(), text);
}

Result<> check_range(const Field& field, double value) {
  const bool low =
      field.minimum && (field.exclusive_minimum ? value <= *field.minimum : value < *field.minimum);
  if (low || (field.maximum && value > *field.maximum)) {
    std::string range =
        field.minimum
            ? fmt::format("{} {}", field.exclusive_minimum ? "over" : "at least", *field.minimum)
            : "";
    if (field.maximum)
      range += fmt::format("{}at most {}", range.empty() ? "" : " and ", *field.maximum);
    return fail(Code::kInvalidArgument, "{} must be {}, got {}", field.flag(), range, value);
  }
  return {};
}

Result<> check_choice(const Field& field, std::string_view text) {
  if (field.choices.empty() ||
      std::find(field.choices.begin(), field.choices.end(), text) != field.choices.end())
    return {};
  return fail(Code::kInvalidArgument, "{} must be one of {}, got '{}'", field.flag(),
              fmt::join(field.choices, ", "), text);
}

Result<> assign_text(Field& field, std::string_view text) {
  return std::visit(Overloaded{
                        [&](bool* t) -> Result<> {
                          HW_ASSIGN_OR_RETURN(*t, parse_bool(field, text));
                          return {};
                        },
                        [&](int64_t* t) -> Result<> {
                          HW_ASSIGN_OR_RETURN(const int64_t value, parse_int(field, text));
                          HW_RETURN_IF_ERROR(check_range(field, static_cast<double>(value)));
                          *t = value;
                          return {};
                        },
                        [&](double* t) -> Result<> {
                          HW_ASSIGN_OR_RETURN(const double value, parse_double(field, text));
                          HW_RETURN_IF_ERROR(check_range(field, value));
                          *t = value;
                          return {};
                        },
                        [&](std::string* t) -> Result<> {
                          HW_RETURN_IF_ERROR(check_choice(field, text));
                          *t = std::string(text);
                          return {};
                        },
                        [&](std::vector<std::string>* t) -> Result<> {
                          HW_RETURN_IF_ERROR(check_choice(field, text));
                          if (field.origin == "default")
                            t->clear();  // the first given value replaces the defaults
                          t->emplace_back(text);
                          return {};
                        },
                        [&](std::optional<int64_t>* t) -> Result<> {
                          if (text == "auto" || text == "none") return t->reset(), Result<>{};
                          HW_ASSIGN_OR_RETURN(const int64_t value, parse_int(field, text));
                          HW_RETURN_IF_ERROR(check_range(field, static_cast<double>(value)));
                          *t = value;
                          return {};
                        },
                        [&](std::optional<double>* t) -> Result<> {
                          if (text == "auto" || text == "none") return t->reset(), Result<>{};
                          HW_ASSIGN_OR_RETURN(const double value, parse_double(field, text));
                          HW_RETURN_IF_ERROR(check_range(field, value));
                          *t = value;
                          return {};
                        },
                        [&](std::optional<std::string>* t) -> Result<> {
                          HW_RETURN_IF_ERROR(check_choice(field, text));
                          *t = std::string(text);
                          return {};
                        },
                    },
                    field.target);
}

// The text form of a JSON scalar, so that JSON and flags share one parser.
Result<> assign_json(Field& field, const Json& value, std::string_view origin) {
  if (auto* list = std::get_if<std::vector<std::string>*>(&field.target);
      list && value.is_array()) {
    std::vector<std::string> items;
    for (const Json& item : value) {
      if (!item.is_string())
        return fail(Code::kInvalidArgument, "{} in {} wants a list of texts", field.name, origin);
      items.push_back(item.get<std::string>());
    }
    **list = std::move(items);
    return {};
  }
  if (value.is_string()) return assign_text(field, value.get<std::string>());
  const bool optional = std::holds_alternative<std::optional<int64_t>*>(field.target) ||
                        std::holds_alternative<std::optional<double>*>(field.target) ||
                        std::holds_alternative<std::optional<std::string>*>(field.target);
  if (value.is_null() && optional) return assign_text(field, "none");
  if (value.is_boolean() || value.is_number()) {
    if (value.is_boolean() != field.is_bool()) {
      return fail(Code::kInvalidArgument, "{} in {} has the wrong type: {}", field.name, origin,
                  dump_json(value));
    }
    return assign_text(field, value.dump());
  }
  return fail(Code::kInvalidArgument, "{} in {} has the wrong type: {}", field.name, origin,
              dump_json(value));
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

std::string Field::text() const {
  return std::visit(
      Overloaded{
          [](const bool* t) { return std::string(*t ? "true" : "false"); },
          [](const int64_t* t) { return fmt::format("{}", *t); },
          [](const double* t) { return fmt::format("{}", *t); },
          [](const std::string* t) { return *t; },
          [](const std::vector<std::string>* t) { return fmt::format("{}", fmt::join(*t, ",")); },
          [](const std::optional<int64_t>* t) {
            return *t ? fmt::format("{}", **t) : std::string("auto");
          },
          [](const std::optional<double>* t) {
            return *t ? fmt::format("{}", **t) : std::string("auto");
          },
          [](const std::optional<std::string>* t) { return t->value_or("auto"); },
      },
      target);
}

std::string Field::flag() const {
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
    if (field.name == folded) return &field;
    if (std::find(field.aliases.begin(), field.aliases.end(), folded) != field.aliases.end())
      return &field;
  }
  return nullptr;
}

std::string Fields::nearest(std::string_view name) const {
  const std::string folded = fold_name(name);
  std::string best;
  int64_t best_distance = std::max<int64_t>(2, static_cast<int64_t>(folded.size()) / 2);
  const auto consider = [&](const std::string& candidate) {
    const int64_t distance = edit_distance(folded, candidate);
    if (distance < best_distance) best_distance = distance, best = candidate;
  };
  for (const Field& field : fields_) {
    consider(field.name);
    for (const std::string& alias : field.aliases) consider(alias);
  }
  return best;
}

Result<> Fields::set_text(std::string_view name, std::string_view text, std::string_view origin) {
  Field* field = find(name);
  if (field == nullptr) {
    const std::string advice = nearest(name);
    return fail_hint(Code::kInvalidArgument,
                     advice.empty() ? "" : fmt::format("did you mean {}?", advice),
                     "unknown option '{}' in {}", name, origin);
  }
  HW_RETURN_IF_ERROR(assign_text(*field, text));
  field->origin = std::string(origin);
  return {};
}

Result<> Fields::set_json(const Json& object, std::string_view origin) {
  if (!object.is_object()) return fail(Code::kInvalidArgument, "{} must be a JSON object", origin);
  for (const auto& [key, value] : object.items()) {
    Field* field = find(key);
    if (field == nullptr) {
      const std::string advice = nearest(key);
      return fail_hint(Code::kInvalidArgument,
                       advice.empty() ? "" : fmt::format("did you mean \"{}\"?", advice),
                       "unknown key \"{}\" in {}", key, origin);
    }
    HW_RETURN_IF_ERROR(assign_json(*field, value, origin));
    field->origin = std::string(origin);
  }
  return {};
}

Json Fields::to_json() const {
  Json object = Json::object();
  for (const Field& field : fields_) {
    std::visit(
        [&](auto* t) {
          using T = std::remove_cvref_t<decltype(*t)>;
          if constexpr (std::is_same_v<T, std::optional<int64_t>> ||
                        std::is_same_v<T, std::optional<double>> ||
                        std::is_same_v<T, std::optional<std::string>>) {
            object[field.name] = *t ? Json(**t) : Json(nullptr);
          } else {
            object[field.name] = *t;
          }
        },
        field.target);
  }
  return object;
}

}  // namespace headwater
