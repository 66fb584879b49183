// Described structs: one description gives JSON both ways, command-line flags, help, range checks,
// nearest-name advice and the origin of each value.
//
//   struct OptimOptions {
//     double learning_rate = 5e-4;
//     void describe(Fields& f) {
//       f("learning_rate", learning_rate, "peak learning rate").positive().alias("lr");
//     }
//   };
//   OptimOptions o;  Fields fields;  o.describe(fields);
//   fields.set_text("learning-rate", "1e-4", "--learning-rate")  ->  Result<void>
//
// Fields points into the struct it describes: the struct must outlive it and must not move. Names
// are snake_case in JSON and fold to --kebab-case on the command line; '-' and '_' are the same in
// every look-up.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace headwater {

// Where a value may be stored. An optional that is unset is JSON null and prints as "auto",
// a text as "none".
using FieldTarget = std::variant<bool*, int64_t*, double*, std::string*, std::vector<std::string>*,
                                 std::optional<bool>*, std::optional<int64_t>*,
                                 std::optional<double>*, std::optional<std::string>*>;

struct Field {
  std::string name;                  // canonical, snake_case
  std::vector<std::string> aliases;  // snake_case: Hugging Face and google spellings
  std::string help;
  FieldTarget target;
  std::optional<double> minimum, maximum;
  bool exclusive_minimum = false;
  std::vector<std::string> choices;  // non-empty: the allowed texts
  std::string group;                 // heading in help
  std::string value_name;            // FILE, DIR, N ... in help; empty: by type
  bool required = false;
  bool positional = false;  // taken from bare words; a vector takes all of them
  bool json = false;        // a text that holds a JSON value: nested in JSON, checked on the way in
  bool layer = false;       // its values are JSON objects, or files, of this struct's own fields
  std::string negation;     // a bool's negative flag; default "no_<name>"
  std::string origin = kDefaultOrigin;

  bool is_default() const { return origin == kDefaultOrigin; }
  bool is_bool() const;
  bool is_list() const { return std::holds_alternative<std::vector<std::string>*>(target); }
  std::string text() const;  // the present value, as a person would type it
  std::string flag() const;  // "--kebab-case"; a positional field: its value name

  static constexpr const char* kDefaultOrigin = "default";
};

// "max-steps" -> "max_steps".
std::string fold_name(std::string_view name);
int64_t edit_distance(std::string_view a, std::string_view b);
// The most similar of the candidates, for advice in errors; empty when none is near.
std::string nearest_name(std::string_view name, std::span<const std::string> candidates);

// Fluent access to the field just declared.
class FieldRef {
 public:
  explicit FieldRef(Field& field) : field_(&field) {}
  FieldRef& alias(std::string name);
  FieldRef& positive() { return field_->minimum = 0, field_->exclusive_minimum = true, *this; }
  FieldRef& non_negative() { return field_->minimum = 0, *this; }
  FieldRef& range(double low, double high) {
    return field_->minimum = low, field_->maximum = high, *this;
  }
  FieldRef& one_of(std::vector<std::string> choices) {
    return field_->choices = std::move(choices), *this;
  }
  FieldRef& required() { return field_->required = true, *this; }
  FieldRef& positional() { return field_->positional = true, *this; }
  FieldRef& value_name(std::string name) { return field_->value_name = std::move(name), *this; }
  FieldRef& negation(std::string name) { return field_->negation = fold_name(name), *this; }
  FieldRef& json() { return field_->json = true, *this; }
  FieldRef& layer() { return field_->layer = true, *this; }

 private:
  Field* field_;
};

class Fields {
 public:
  // Declares a field; called from describe().
  FieldRef operator()(std::string name, FieldTarget target, std::string help);
  template <class T>
  FieldRef operator()(std::string name, T& target, std::string help) {
    return (*this)(std::move(name), FieldTarget(&target), std::move(help));
  }
  // Heading for the fields that follow.
  void group(std::string name) { group_ = std::move(name); }

  Field* find(std::string_view name);  // by name or alias, '-' folded to '_'; null when unknown
  const Field* find(std::string_view name) const;
  std::vector<std::string> names() const;            // with aliases
  std::string nearest(std::string_view name) const;  // the most similar name, or empty

  // Sets one field, checks type and range, and notes where the value came from. A list grows by
  // texts of one origin and starts anew with another.
  Result<> set_text(std::string_view name, std::string_view text, std::string_view origin);
  // Sets every key of an object; an unknown key is an error with the nearest name.
  Result<> set_json(const Json& object, std::string_view origin);
  Result<> set_json_text(std::string_view text, std::string_view origin);
  // The same for the fields that still have their default: presets and derived values, which
  // anything given outranks.
  Result<> set_defaults(const Json& object, std::string_view origin);
  // All values but layers: what those held is in the values.
  Json to_json() const;

  std::vector<Field>& all() { return fields_; }
  const std::vector<Field>& all() const { return fields_; }

 private:
  Result<> set_json(const Json& object, std::string_view origin, bool only_defaults);
  std::vector<Field> fields_;
  std::string group_;
};

}  // namespace headwater
