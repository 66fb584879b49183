#include "records/feature_specs.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/checked.h"

namespace headwater {
namespace {

constexpr int64_t kMostValues = int64_t{1} << 24;  // of a fixed shape
constexpr size_t kMostDimensions = 8;
constexpr int64_t kSpecFileLimit = int64_t{1} << 20;  // bytes
constexpr std::string_view kHint = "for example: input_ids:int64[], label:int64=0, box:float[2,2]";

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

// Splits at the commas that stand outside of brackets and quoted texts.
std::vector<std::string_view> split_at_commas(std::string_view text) {
  std::vector<std::string_view> parts;
  size_t begin = 0;
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (quoted && text[i] == '\\') ++i;
    else if (text[i] == '"') quoted = !quoted;
    else if (quoted) continue;
    else if (text[i] == '[') ++depth;
    else if (text[i] == ']') --depth;
    else if (text[i] == ',' && depth <= 0) {
      parts.push_back(trimmed(text.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  parts.push_back(trimmed(text.substr(begin)));
  return parts;
}

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Result<FeatureType> parse_type(std::string_view text) {
  for (const FeatureType type : {FeatureType::kInt64, FeatureType::kFloat, FeatureType::kBytes})
    if (feature_type_name(type) == text) return type;
  return fail_hint(Code::kInvalidArgument, "the types of a record are int64, float and bytes",
                   "unknown type '{}'", text);
}

Result<> set_shape(FeatureSpec& spec, std::vector<int64_t> shape) {
  if (shape.size() > kMostDimensions)
    return fail(Code::kInvalidArgument, "a shape has at most {} dimensions", kMostDimensions);
  int64_t length = 1;
  for (const int64_t extent : shape) {
    const auto product = extent >= 0 ? checked_mul(length, extent) : std::nullopt;
    if (!product || *product > kMostValues)
      return fail(Code::kInvalidArgument, "a shape of extent {} is out of range", extent);
    length = *product;
  }
  spec.layout = FeatureSpec::Layout::kFixed;
  spec.length = length;
  spec.shape = std::move(shape);
  return {};
}

Result<> append_value(FeatureType type, std::string_view text, FeatureValues& values) {
  if (type == FeatureType::kBytes) {
    std::string value(text);
    if (text.starts_with('"')) {
      HW_ASSIGN_OR_RETURN(const Json json, parse_json(text, "default"));
      if (!json.is_string())
        return fail(Code::kInvalidArgument, "the default {} is not a text", text);
      value = json.get<std::string>();
    }
    std::get<std::vector<std::string>>(values).push_back(std::move(value));
    return {};
  }
  const auto whole = parse_number<int64_t>(text);
  const auto real = parse_number<float>(text);
  if (type == FeatureType::kInt64 ? !whole : !real)
    return fail(Code::kInvalidArgument, "the default '{}' is no {}", text, feature_type_name(type));
  if (type == FeatureType::kInt64) std::get<std::vector<int64_t>>(values).push_back(*whole);
  else std::get<std::vector<float>>(values).push_back(*real);
  return {};
}

FeatureValues no_values(FeatureType type) {
  switch (type) {
    case FeatureType::kBytes: return std::vector<std::string>();
    case FeatureType::kFloat: return std::vector<float>();
    case FeatureType::kInt64: return std::vector<int64_t>();
    case FeatureType::kNone: break;
  }
  return std::monostate();
}

// Fails when the values are not as many as the shape holds.
Result<> set_default_list(FeatureSpec& spec, std::span<const std::string_view> texts) {
  FeatureValues values = no_values(spec.type);
  for (const std::string_view text : texts)
    HW_RETURN_IF_ERROR(append_value(spec.type, text, values));
  const auto count = static_cast<int64_t>(texts.size());
  if (spec.layout == FeatureSpec::Layout::kFixed && count != spec.length)
    return fail(Code::kInvalidArgument, "{} default values for a shape of {}", count, spec.length);
  spec.default_values = std::move(values);
  return {};
}

// One value stands for all places of a fixed shape.
Result<> set_default_value(FeatureSpec& spec, std::string_view text) {
  if (spec.layout != FeatureSpec::Layout::kFixed)
    return fail_hint(Code::kInvalidArgument,
                     "write ? for a list that may be missing, or =[..] for what stands in",
                     "one value is no default for a list of any length");
  FeatureValues values = no_values(spec.type);
  HW_RETURN_IF_ERROR(append_value(spec.type, text, values));
  const auto places = static_cast<size_t>(spec.length);
  std::visit(
      [&](auto& list) {
        using List = std::decay_t<decltype(list)>;
        if constexpr (!std::is_same_v<List, std::monostate>) list = List(places, list.front());
      },
      values);
  spec.default_values = std::move(values);
  return {};
}

Result<> check_optional(const FeatureSpec& spec, bool optional) {
  if (!optional || spec.layout == FeatureSpec::Layout::kVariable ||
      spec.default_values.index() != 0)
    return {};
  return fail_hint(Code::kInvalidArgument, "say what stands in for it, =0",
                   "a fixed shape that may be missing needs a default");
}

// "int64[2]=0": what stands behind the name.
Result<> parse_kind(std::string_view text, FeatureSpec& spec) {
  const size_t type_end = std::min(text.find_first_of("[?="), text.size());
  HW_ASSIGN_OR_RETURN(spec.type, parse_type(trimmed(text.substr(0, type_end))));
  text = trimmed(text.substr(type_end));
  spec.length = 1;
  if (text.starts_with('[')) {
    const size_t close = text.find(']');
    if (close == std::string_view::npos) return fail(Code::kInvalidArgument, "'[' without ']'");
    const std::string_view extents = trimmed(text.substr(1, close - 1));
    text = trimmed(text.substr(close + 1));
    if (extents.empty()) {
      spec.layout = FeatureSpec::Layout::kVariable;
      spec.length = 0;
    } else {
      std::vector<int64_t> shape;
      for (const std::string_view part : split_at_commas(extents)) {
        const auto extent = parse_number<int64_t>(part);
        if (!extent) return fail(Code::kInvalidArgument, "'{}' is no extent of a shape", part);
        shape.push_back(*extent);
      }
      HW_RETURN_IF_ERROR(set_shape(spec, std::move(shape)));
    }
  }
  const bool optional = text.starts_with('?');
  if (optional) text = trimmed(text.substr(1));
  if (text.starts_with('=')) {
    text = trimmed(text.substr(1));
    if (text.starts_with('[') && text.ends_with(']')) {
      const std::string_view list = trimmed(text.substr(1, text.size() - 2));
      const auto values = list.empty() ? std::vector<std::string_view>() : split_at_commas(list);
      HW_RETURN_IF_ERROR(set_default_list(spec, values));
    } else {
      HW_RETURN_IF_ERROR(set_default_value(spec, text));
    }
  } else if (!text.empty()) {
    return fail(Code::kInvalidArgument, "'{}' is not understood", text);
  }
  spec.required = spec.layout == FeatureSpec::Layout::kVariable && !optional;
  return check_optional(spec, optional);
}

tl::unexpected<Error> in_feature(Error error, std::string_view name) {
  if (error.hint.empty()) error.hint = kHint;
  return in_context(std::move(error), fmt::format("feature '{}'", name));
}

// A JSON value as the text of a default.
std::string default_text(const Json& value) {
  return value.is_boolean() ? (value.get<bool>() ? "1" : "0") : dump_json(value);
}

Result<> read_json_object(const Json& json, FeatureSpec& spec) {
  const std::vector<std::string> known = {"type", "shape", "optional", "default"};
  for (const auto& [key, value] : json.items())
    if (std::find(known.begin(), known.end(), key) == known.end())
      return fail_hint(Code::kInvalidArgument, "known: type, shape, optional, default",
                       "unknown key '{}'", key);
  if (!json.contains("type") || !json["type"].is_string())
    return fail(Code::kInvalidArgument, "\"type\" must be int64, float or bytes");
  HW_ASSIGN_OR_RETURN(spec.type, parse_type(json["type"].get<std::string>()));
  spec.layout = FeatureSpec::Layout::kVariable;
  if (json.contains("shape")) {
    const Json& shape = json["shape"];
    const bool whole =
        shape.is_array() && std::all_of(shape.begin(), shape.end(),
                                        [](const Json& n) { return n.is_number_integer(); });
    if (!whole) return fail(Code::kInvalidArgument, "\"shape\" must be a list of whole numbers");
    HW_RETURN_IF_ERROR(set_shape(spec, shape.get<std::vector<int64_t>>()));
  }
  bool optional = false;
  if (json.contains("optional")) {
    if (!json["optional"].is_boolean())
      return fail(Code::kInvalidArgument, "\"optional\" must be true or false");
    optional = json["optional"].get<bool>();
  }
  if (json.contains("default")) {
    const Json& value = json["default"];
    std::vector<std::string> texts;
    if (value.is_array())
      for (const Json& part : value) texts.push_back(default_text(part));
    else texts.push_back(default_text(value));
    const std::vector<std::string_view> views(texts.begin(), texts.end());
    HW_RETURN_IF_ERROR(value.is_array() ? set_default_list(spec, views)
                                        : set_default_value(spec, views[0]));
  }
  spec.required = spec.layout == FeatureSpec::Layout::kVariable && !optional;
  return check_optional(spec, optional);
}

// Names come once, and specs fit: what the parser of records asks.
Result<std::vector<FeatureSpec>> checked(std::vector<FeatureSpec> specs) {
  if (specs.empty())
    return fail_hint(Code::kInvalidArgument, std::string(kHint), "no features are named");
  HW_RETURN_IF_ERROR(ExampleParser::create(specs));
  return specs;
}

std::string value_text(FeatureType type, const FeatureValues& values, size_t i) {
  if (type == FeatureType::kInt64)
    return fmt::format("{}", std::get<std::vector<int64_t>>(values)[i]);
  if (type == FeatureType::kFloat)
    return fmt::format("{}", std::get<std::vector<float>>(values)[i]);
  return dump_json(Json(std::get<std::vector<std::string>>(values)[i]));
}

std::string default_list_text(const FeatureSpec& spec) {
  const size_t size = std::visit(
      [](const auto& list) -> size_t {
        if constexpr (std::is_same_v<std::decay_t<decltype(list)>, std::monostate>) return 0;
        else return list.size();
      },
      spec.default_values);
  std::string text = "=[";
  for (size_t i = 0; i < size; ++i)
    text += (i > 0 ? ", " : "") + value_text(spec.type, spec.default_values, i);
  return text + "]";
}

}  // namespace

Result<std::vector<FeatureSpec>> parse_feature_specs(std::string_view text) {
  std::vector<FeatureSpec> specs;
  if (trimmed(text).empty()) return checked({});
  for (const std::string_view part : split_at_commas(text)) {
    const size_t colon = part.find(':');
    const std::string_view name = trimmed(part.substr(0, colon));
    if (colon == std::string_view::npos || name.empty())
      return fail_hint(Code::kInvalidArgument, std::string(kHint), "'{}' is not NAME:TYPE", part);
    FeatureSpec spec;
    spec.key = name;
    auto parsed = parse_kind(trimmed(part.substr(colon + 1)), spec);
    if (!parsed) return in_feature(std::move(parsed).error(), name);
    specs.push_back(std::move(spec));
  }
  return checked(std::move(specs));
}

Result<std::vector<FeatureSpec>> feature_specs_from_json(const Json& json) {
  if (!json.is_object())
    return fail(Code::kInvalidArgument, "features must be a JSON object: name to type");
  std::vector<FeatureSpec> specs;
  for (const auto& [name, value] : json.items()) {
    FeatureSpec spec;
    spec.key = name;
    auto read = value.is_string()   ? parse_kind(trimmed(value.get_ref<const std::string&>()), spec)
                : value.is_object() ? read_json_object(value, spec)
                                    : fail(Code::kInvalidArgument, "must be a text or an object");
    if (!read) return in_feature(std::move(read).error(), name);
    specs.push_back(std::move(spec));
  }
  return checked(std::move(specs));
}

Result<std::vector<FeatureSpec>> read_feature_specs(FileSystem& fs, std::string_view value) {
  value = trimmed(value);
  const bool is_file = value.ends_with(".json");
  if (!is_file && !value.starts_with('{')) return parse_feature_specs(value);
  const std::string where = is_file ? std::string(value) : "features";
  std::string text(value);
  if (is_file) {
    HW_ASSIGN_OR_RETURN(text, read_file(fs, where, kSpecFileLimit));
  }
  HW_ASSIGN_OR_RETURN(const Json json, parse_json(text, where));
  auto specs = feature_specs_from_json(json);
  if (!specs) return in_context(std::move(specs).error(), where);
  return specs;
}

std::string feature_specs_text(std::span<const FeatureSpec> specs) {
  std::string text;
  for (const FeatureSpec& spec : specs) {
    text +=
        fmt::format("{}{}:{}", text.empty() ? "" : ", ", spec.key, feature_type_name(spec.type));
    const bool fixed = spec.layout == FeatureSpec::Layout::kFixed;
    if (!fixed) text += "[]";
    else if (!spec.shape.empty()) text += fmt::format("[{}]", fmt::join(spec.shape, ","));
    else if (spec.length != 1) text += fmt::format("[{}]", spec.length);
    if (!fixed && !spec.required) text += "?";
    if (spec.default_values.index() != 0) text += default_list_text(spec);
  }
  return text;
}

}  // namespace headwater
