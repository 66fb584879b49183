#include "batches/line_records.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/json.h"

namespace headwater {
namespace {

constexpr int64_t kLongestLine = int64_t{64} << 20;
constexpr std::string_view kFormatNames[] = {"tfrecord", "jsonl", "txt"};

std::optional<int64_t> as_integer(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  if (!value.is_number_integer()) return std::nullopt;
  const bool over = value.is_number_unsigned() &&
                    value.get<uint64_t>() > uint64_t{std::numeric_limits<int64_t>::max()};
  return over ? std::nullopt : std::optional(value.get<int64_t>());
}

// Appends one value, or all values of a list.
bool append(const Json& value, FeatureValues& values) {
  if (value.is_array()) {
    for (const Json& part : value)
      if (!append(part, values)) return false;
    return true;
  }
  if (auto* ints = std::get_if<std::vector<int64_t>>(&values)) {
    const auto integer = as_integer(value);
    if (integer) ints->push_back(*integer);
    return integer.has_value();
  }
  if (auto* floats = std::get_if<std::vector<float>>(&values)) {
    if (value.is_number()) floats->push_back(value.get<float>());
    return value.is_number();
  }
  if (value.is_string())
    std::get<std::vector<std::string>>(values).push_back(value.get<std::string>());
  return value.is_string();
}

FeatureValues empty_values(FeatureType type) {
  if (type == FeatureType::kInt64) return std::vector<int64_t>();
  if (type == FeatureType::kFloat) return std::vector<float>();
  return std::vector<std::string>();
}

Result<Json> parse_line(std::string_view line) {
  HW_ASSIGN_OR_RETURN(Json json, parse_json(line, "JSON"));
  if (json.is_object()) return json;
  return fail_hint(Code::kInvalidArgument, "for example: {\"input_ids\": [5, 6]}",
                   "the line is no JSON object");
}

}  // namespace

Result<RecordFormat> parse_record_format(std::string_view name) {
  for (size_t i = 0; i < std::size(kFormatNames); ++i)
    if (kFormatNames[i] == name) return static_cast<RecordFormat>(i);
  return fail_hint(Code::kInvalidArgument, "tfrecord, jsonl or txt", "unknown form of records '{}'",
                   name);
}

std::string_view record_format_name(RecordFormat format) {
  return kFormatNames[static_cast<size_t>(format)];
}

Result<std::string> record_of_json_line(std::string_view line, std::span<const FeatureSpec> specs) {
  HW_ASSIGN_OR_RETURN(const Json json, parse_line(line));
  Example example;
  for (const FeatureSpec& spec : specs) {
    const auto found = json.find(spec.key);
    if (found == json.end() || found->is_null()) continue;
    FeatureValues values = empty_values(spec.type);
    if (!append(*found, values))
      return fail(Code::kInvalidArgument, "feature '{}' holds {}, expected {}", spec.key,
                  found->is_array() ? "a list of something else" : dump_json(*found).substr(0, 40),
                  feature_type_name(spec.type));
    example[spec.key] = std::move(values);
  }
  return serialize_example(example);
}

Result<Example> example_of_json_line(std::string_view line) {
  HW_ASSIGN_OR_RETURN(const Json json, parse_line(line));
  Example example;
  for (const auto& [key, value] : json.items()) {
    for (const FeatureType type : {FeatureType::kInt64, FeatureType::kFloat, FeatureType::kBytes}) {
      FeatureValues values = empty_values(type);
      if (value.is_null() || value.empty() || !append(value, values)) continue;
      example[key] = std::move(values);
      break;
    }
  }
  return example;
}

Result<std::optional<std::string>> first_line(FileSystem& fs, const std::string& path) {
  HW_ASSIGN_OR_RETURN(const auto source, open_decompressed(fs, path));
  std::string line;
  std::vector<uint8_t> piece(size_t{1} << 16);
  while (static_cast<int64_t>(line.size()) < kLongestLine) {
    HW_ASSIGN_OR_RETURN(const size_t n, source->read(piece));
    line.append(reinterpret_cast<const char*>(piece.data()), n);
    line.erase(0, line.find_first_not_of("\r\n"));
    const size_t end = line.find_first_of("\r\n");
    if (end == std::string::npos && n > 0) continue;
    if (line.empty()) return std::optional<std::string>();
    return std::optional(line.substr(0, end));
  }
  return fail(Code::kInvalidArgument, "{}: the first line is over {} MB", path, kLongestLine >> 20);
}

Result<std::string> record_of_text_line(std::string_view line, const EncodeText& encode) {
  HW_ASSIGN_OR_RETURN(const std::vector<int32_t> ids, encode(line));
  std::string record;
  const IntFeature feature = {"input_ids", ids};
  append_example(std::span(&feature, 1), record);
  return record;
}

}  // namespace headwater
