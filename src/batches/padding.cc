#include "batches/padding.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/checked.h"

namespace headwater {
namespace {

constexpr int64_t kWidest = int64_t{1} << 24;
constexpr size_t kMostBuckets = 1024;
constexpr double kIgnoredLabel = -100;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> split_at_commas(std::string_view text) {
  std::vector<std::string_view> parts;
  for (size_t comma = text.find(','); comma != std::string_view::npos; comma = text.find(',')) {
    parts.push_back(trimmed(text.substr(0, comma)));
    text.remove_prefix(comma + 1);
  }
  parts.push_back(trimmed(text));
  return parts;
}

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Result<int64_t> parse_width(std::string_view text) {
  const auto width = parse_number<int64_t>(text);
  if (width && *width >= 1 && *width <= kWidest) return *width;
  return fail_hint(Code::kInvalidArgument, "longest, multiple:64, 128, or buckets: 64,128,512",
                   "'{}' is no width to pad to (1 to {})", text, kWidest);
}

}  // namespace

Result<int64_t> PadTo::width(int64_t longest) const {
  switch (rule) {
    case Rule::kLongest: return std::max<int64_t>(longest, 1);
    case Rule::kMultiple: return round_up(std::max<int64_t>(longest, 1), multiple);
    case Rule::kBuckets: break;
  }
  const auto bucket = std::lower_bound(buckets.begin(), buckets.end(), longest);
  if (bucket != buckets.end()) return *bucket;
  return fail_hint(Code::kInvalidArgument, "pad to more, or cut the records",
                   "{} values, but the widest batch is to have {}", longest, limit());
}

int64_t PadTo::limit() const {
  if (rule != Rule::kBuckets) return INT64_MAX;
  return buckets.empty() ? 0 : buckets.back();
}

int64_t PadTo::widths() const {
  return rule == Rule::kBuckets ? static_cast<int64_t>(buckets.size()) : 0;
}

Result<PadTo> parse_pad_to(std::string_view text) {
  constexpr std::string_view kMultiplePrefix = "multiple:";
  text = trimmed(text);
  PadTo pad_to;
  if (text == "longest") return pad_to;
  if (text.starts_with(kMultiplePrefix)) {
    pad_to.rule = PadTo::Rule::kMultiple;
    HW_ASSIGN_OR_RETURN(pad_to.multiple, parse_width(text.substr(kMultiplePrefix.size())));
    return pad_to;
  }
  pad_to.rule = PadTo::Rule::kBuckets;
  for (const std::string_view part : split_at_commas(text)) {
    HW_ASSIGN_OR_RETURN(const int64_t width, parse_width(part));
    if (!pad_to.buckets.empty() && width <= pad_to.buckets.back())
      return fail(Code::kInvalidArgument, "buckets must rise: {} stands behind {}", width,
                  pad_to.buckets.back());
    pad_to.buckets.push_back(width);
  }
  if (pad_to.buckets.size() > kMostBuckets)
    return fail(Code::kInvalidArgument, "at most {} buckets", kMostBuckets);
  return pad_to;
}

std::string pad_to_text(const PadTo& pad_to) {
  switch (pad_to.rule) {
    case PadTo::Rule::kLongest: return "longest";
    case PadTo::Rule::kMultiple: return fmt::format("multiple:{}", pad_to.multiple);
    case PadTo::Rule::kBuckets: break;
  }
  return fmt::format("{}", fmt::join(pad_to.buckets, ","));
}

ListFill list_fill(std::string_view name, int64_t pad_id) {
  const auto is = [&](std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (is({"attention_mask", "input_mask"})) return {.missing = 1, .aligned = true};
  if (is({"token_type_ids", "segment_ids", "special_tokens_mask"})) return {.aligned = true};
  if (name == "position_ids") return {.missing_as = ListFill::Missing::kPositions, .aligned = true};
  if (is({"label", "labels"}) || name.ends_with("_labels") || name.ends_with("_label"))
    return {.padding = kIgnoredLabel, .missing = kIgnoredLabel};
  if (name.ends_with("input_ids") || name.ends_with("token_ids"))
    return {.padding = static_cast<double>(pad_id), .missing = static_cast<double>(pad_id)};
  return {};
}

Result<std::vector<PaddingValue>> parse_padding_values(std::string_view text) {
  std::vector<PaddingValue> values;
  if (trimmed(text).empty()) return values;
  for (const std::string_view part : split_at_commas(text)) {
    const size_t equals = part.find('=');
    const std::string_view name = trimmed(part.substr(0, equals));
    const auto value = equals == std::string_view::npos
                           ? std::nullopt
                           : parse_number<double>(trimmed(part.substr(equals + 1)));
    if (!value || name.empty())
      return fail_hint(Code::kInvalidArgument, "for example: labels=-100, weights=0.5",
                       "'{}' is not FEATURE=NUMBER", part);
    values.push_back({std::string(name), *value});
  }
  return values;
}

}  // namespace headwater
