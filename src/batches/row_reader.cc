#include "batches/row_reader.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace headwater {
namespace {

void resize(ParsedFeature& feature, int64_t size) {
  const auto n = static_cast<size_t>(size);
  if (feature.ints.size() > n) feature.ints.resize(n);
  if (feature.floats.size() > n) feature.floats.resize(n);
  if (feature.bytes.size() > n) feature.bytes.resize(n);
}

}  // namespace

Result<RowReader> RowReader::create(const RowRules& rules) {
  for (const FeatureSpec& spec : rules.features)
    if (spec.layout == FeatureSpec::Layout::kPadded)
      return fail(Code::kInvalidArgument, "feature '{}': batches pad lists, not parsers", spec.key);
  if (rules.features.empty()) return fail(Code::kInvalidArgument, "no features are named");
  HW_ASSIGN_OR_RETURN(ExampleParser parser, ExampleParser::create(rules.features));
  RowReader reader(std::move(parser), rules);
  HW_RETURN_IF_ERROR(reader.set_fills());
  return reader;
}

Result<> RowReader::set_fills() {
  for (size_t i = 0; i < specs().size(); ++i) {
    const FeatureSpec& spec = specs()[i];
    fills_.push_back(list_fill(spec.key, rules_.pad_id));
    if (spec.type == FeatureType::kBytes) has_bytes_ = true;
    if (spec.key == "input_ids" && spec.type == FeatureType::kInt64) ids_ = static_cast<int>(i);
    if (is_list(i) && first_list_ < 0) first_list_ = static_cast<int>(i);
  }
  if (ids_ >= 0 && is_list(static_cast<size_t>(ids_))) first_list_ = ids_;
  for (const PaddingValue& value : rules_.padding) {
    const auto named = std::find_if(specs().begin(), specs().end(), [&](const FeatureSpec& spec) {
      return spec.key == value.feature;
    });
    if (named == specs().end())
      return fail(Code::kInvalidArgument, "padding of '{}', but there is no such feature",
                  value.feature);
    const bool whole = value.value == std::nearbyint(value.value) && std::abs(value.value) < 0x1p31;
    if (named->type == FeatureType::kBytes || (named->type == FeatureType::kInt64 && !whole))
      return fail(Code::kInvalidArgument, "padding {} does not fit feature '{}' of {}", value.value,
                  value.feature, feature_type_name(named->type));
    fills_[static_cast<size_t>(named - specs().begin())].padding = value.value;
  }
  return {};
}

Result<> RowReader::read(std::string_view payload, Row& row) const {
  if (has_bytes_) row.payload = payload;
  HW_RETURN_IF_ERROR(
      parser_.parse(has_bytes_ ? std::string_view(row.payload) : payload, row.features));
  row.length = has_lists() ? row.features[static_cast<size_t>(first_list_)].size() : 1;
  HW_RETURN_IF_ERROR(check_lengths(row));
  fill_missing(row);
  return check_ids(row);
}

Result<int64_t> RowReader::check(std::string_view payload) const {
  thread_local Row row;
  thread_local std::vector<int32_t> narrow;
  HW_RETURN_IF_ERROR(read(payload, row));
  for (size_t i = 0; i < specs().size(); ++i) {
    narrow.resize(row.features[i].ints.size());
    HW_RETURN_IF_ERROR(narrow_to_int32(specs()[i].key, row.features[i].ints, narrow));
  }
  return row.length;
}

Result<> RowReader::check_lengths(Row& row) const {
  row.cut = 0;
  if (!has_lists()) return {};
  const auto first = static_cast<size_t>(first_list_);
  for (size_t i = 0; i < specs().size(); ++i) {
    ParsedFeature& feature = row.features[i];
    if (!is_list(i) || !feature.present) continue;
    const int64_t size = feature.size();
    if ((rules_.aligned || fills_[i].aligned) && size != row.length)
      return fail(Code::kInvalidArgument, "feature '{}' has {} values, but '{}' has {}",
                  specs()[i].key, size, specs()[first].key, row.length);
    if (rules_.max_length == 0 || size <= rules_.max_length) continue;
    if (!rules_.truncate)
      return fail_hint(Code::kInvalidArgument,
                       "allow a greater length, or have records cut (--truncate)",
                       "feature '{}' has {} values, expected at most {}", specs()[i].key, size,
                       rules_.max_length);
    resize(feature, rules_.max_length);
  }
  row.cut = rules_.max_length > 0 ? std::max<int64_t>(0, row.length - rules_.max_length) : 0;
  row.length -= row.cut;
  return {};
}

// A list that is missing and has no default of its own: as long as the first list.
void RowReader::fill_missing(Row& row) const {
  const auto length = static_cast<size_t>(row.length);
  for (size_t i = 0; i < specs().size(); ++i) {
    ParsedFeature& feature = row.features[i];
    if (!is_list(i) || feature.type != FeatureType::kNone) continue;
    feature.type = specs()[i].type;
    const ListFill& fill = fills_[i];
    if (feature.type == FeatureType::kFloat) {
      feature.floats.assign(length, static_cast<float>(fill.missing));
    } else if (feature.type == FeatureType::kInt64) {
      feature.ints.assign(length, static_cast<int64_t>(fill.missing));
      if (fill.missing_as == ListFill::Missing::kPositions)
        std::iota(feature.ints.begin(), feature.ints.end(), 0);
    }
  }
}

Result<> RowReader::check_ids(const Row& row) const {
  if (ids_ < 0 || rules_.vocab_size == 0) return {};
  const auto& ids = row.features[static_cast<size_t>(ids_)].ints;
  const auto bad = std::find_if(ids.begin(), ids.end(), [&](int64_t id) {
    return static_cast<uint64_t>(id) >= static_cast<uint64_t>(rules_.vocab_size);
  });
  if (bad == ids.end()) return {};
  return fail_hint(Code::kOutOfRange, "were the records built with another vocabulary?",
                   "feature 'input_ids': value {} at position {} is not below {}", *bad,
                   bad - ids.begin(), rules_.vocab_size);
}

}  // namespace headwater
