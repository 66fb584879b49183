#include "records/example.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>

#include "base/checked.h"
#include "records/wire.h"

namespace headwater {
namespace {

static_assert(std::endian::native == std::endian::little, "floats are read by memcpy");

// Field numbers of Example, Features, the map entry, Feature (the numbers of FeatureType) and
// lists.
constexpr uint32_t kFeaturesTag = wire::tag(1, wire::kLengthDelimited);
constexpr uint32_t kEntryTag = wire::tag(1, wire::kLengthDelimited);
constexpr uint32_t kKeyTag = wire::tag(1, wire::kLengthDelimited);
constexpr uint32_t kValueTag = wire::tag(2, wire::kLengthDelimited);
constexpr uint32_t kListValueTag = wire::tag(1, wire::kLengthDelimited);
constexpr uint64_t kContinuationBits = 0x8080808080808080;

uint64_t load_word(const uint8_t* p) {
  uint64_t word = 0;
  std::memcpy(&word, p, 8);
  return word;
}

// Values in a packed list: bytes without the continuation bit.
size_t count_varints(const uint8_t* p, const uint8_t* end) {
  size_t count = 0;
  for (; end - p >= 8; p += 8)
    count += static_cast<size_t>(std::popcount(~load_word(p) & kContinuationBits));
  for (; p != end; ++p) count += *p < 0x80 ? 1 : 0;
  return count;
}

// The 7-bit groups in the lowest `bits` bits (8 per byte, at most 8 bytes), moved together.
uint64_t join_groups(uint64_t word, int bits) {
  word &= ~uint64_t{0} >> (64 - bits);
  word = (word & 0x7f007f007f007f00) >> 1 | (word & 0x007f007f007f007f);
  word = (word & 0x3fff00003fff0000) >> 2 | (word & 0x00003fff00003fff);
  return (word & 0x0fffffff00000000) >> 4 | (word & 0x000000000fffffff);
}

// Appends a packed list of varints: by words of eight bytes, eight one-byte values or two longer
// ones at a time.
bool append_packed_ints(std::string_view packed, std::vector<int64_t>& out) {
  const auto* p = reinterpret_cast<const uint8_t*>(packed.data());
  const uint8_t* end = p + packed.size();
  if (p != end && end[-1] >= 0x80) return false;
  const size_t before = out.size();
  out.resize(before + count_varints(p, end));
  int64_t* value = out.data() + before;
  while (end - p >= 8) {
    const uint64_t word = load_word(p);
    const uint64_t stops = ~word & kContinuationBits;
    if (stops == kContinuationBits) {
      for (int i = 0; i < 8; ++i) value[i] = p[i];
      value += 8, p += 8;
      continue;
    }
    const uint64_t later_stops = stops & (stops - 1);
    if (later_stops != 0) {
      const int first = std::countr_zero(stops) + 1, both = std::countr_zero(later_stops) + 1;
      value[0] = static_cast<int64_t>(join_groups(word, first));
      value[1] = static_cast<int64_t>(join_groups(word >> first, both - first));
      value += 2, p += both / 8;
      continue;
    }
    uint64_t wide = 0;
    p = wire::decode_varint(p, end, wide);
    if (p == nullptr) return false;
    *value++ = static_cast<int64_t>(wide);
  }
  while (p != end) {
    uint64_t wide = 0;
    p = wire::decode_varint(p, end, wide);
    if (p == nullptr) return false;
    *value++ = static_cast<int64_t>(wide);
  }
  return true;
}

bool append_ints(std::string_view list, std::vector<int64_t>& out) {
  wire::Reader reader(list);
  while (const uint32_t tag = reader.next_tag()) {
    if (tag == kListValueTag) {
      std::string_view packed;
      if (!reader.read_bytes(packed) || !append_packed_ints(packed, out)) return false;
    } else if (tag == wire::tag(1, wire::kVarint)) {
      uint64_t value = 0;
      if (!reader.read_varint(value)) return false;
      out.push_back(static_cast<int64_t>(value));
    } else if (!reader.skip(tag)) {
      return false;
    }
  }
  return !reader.damaged();
}

bool append_floats(std::string_view list, std::vector<float>& out) {
  wire::Reader reader(list);
  while (const uint32_t tag = reader.next_tag()) {
    if (tag == kListValueTag) {
      std::string_view packed;
      if (!reader.read_bytes(packed) || packed.size() % sizeof(float) != 0) return false;
      if (packed.empty()) continue;
      const size_t before = out.size();
      out.resize(before + packed.size() / sizeof(float));
      std::memcpy(out.data() + before, packed.data(), packed.size());
    } else if (tag == wire::tag(1, wire::kFixed32)) {
      uint32_t bits = 0;
      if (!reader.read_fixed32(bits)) return false;
      out.push_back(std::bit_cast<float>(bits));
    } else if (!reader.skip(tag)) {
      return false;
    }
  }
  return !reader.damaged();
}

bool append_byte_strings(std::string_view list, std::vector<std::string_view>& out) {
  wire::Reader reader(list);
  while (const uint32_t tag = reader.next_tag()) {
    std::string_view bytes;
    if (tag != kListValueTag) {
      if (!reader.skip(tag)) return false;
    } else if (!reader.read_bytes(bytes)) {
      return false;
    } else {
      out.push_back(bytes);
    }
  }
  return !reader.damaged();
}

// Merges a Feature message into `feature`: lists of the same kind are joined, another kind replaces
// what was there.
bool merge_feature(std::string_view message, ParsedFeature& feature) {
  wire::Reader reader(message);
  while (const uint32_t tag = reader.next_tag()) {
    const uint32_t field = tag >> 3;
    if (field > 3 || (tag & 7) != wire::kLengthDelimited) {
      if (!reader.skip(tag)) return false;
      continue;
    }
    std::string_view list;
    if (!reader.read_bytes(list)) return false;
    const auto type = static_cast<FeatureType>(field);
    if (type != feature.type) feature.clear();
    feature.type = type;
    const bool whole = type == FeatureType::kInt64   ? append_ints(list, feature.ints)
                       : type == FeatureType::kFloat ? append_floats(list, feature.floats)
                                                     : append_byte_strings(list, feature.bytes);
    if (!whole) return false;
  }
  return !reader.damaged();
}

// Calls visit(key, value, first) for every Feature message of the map: the same entry may hold
// several, which are merged; `first` starts a new entry, which replaces one of the same key. An
// entry without a value has an empty one.
template <class Visit>
bool visit_entry(std::string_view entry, Visit& visit) {
  wire::Reader keys(entry);
  std::string_view key, value;
  while (const uint32_t tag = keys.next_tag()) {
    if (tag == kKeyTag ? !keys.read_bytes(key) : !keys.skip(tag)) return false;
  }
  if (keys.damaged()) return false;
  bool first = true;
  wire::Reader values(entry);
  while (const uint32_t tag = values.next_tag()) {
    if (tag != kValueTag) {
      if (!values.skip(tag)) return false;
    } else if (!values.read_bytes(value) || !visit(key, value, std::exchange(first, false))) {
      return false;
    }
  }
  return !first || visit(key, std::string_view(), true);
}

template <class Visit>
bool visit_features(std::string_view payload, Visit visit) {
  wire::Reader example(payload);
  while (const uint32_t tag = example.next_tag()) {
    std::string_view features;
    if (tag != kFeaturesTag) {
      if (!example.skip(tag)) return false;
      continue;
    }
    if (!example.read_bytes(features)) return false;
    wire::Reader map(features);
    while (const uint32_t entry_tag = map.next_tag()) {
      std::string_view entry;
      if (entry_tag != kEntryTag) {
        if (!map.skip(entry_tag)) return false;
      } else if (!map.read_bytes(entry) || !visit_entry(entry, visit)) {
        return false;
      }
    }
    if (map.damaged()) return false;
  }
  return !example.damaged();
}

tl::unexpected<Error> not_an_example(std::string_view payload) {
  return fail_hint(Code::kDataLoss, "was this record written as tf.train.Example?",
                   "its {} bytes are not a tf.train.Example: the protobuf message is damaged",
                   payload.size());
}

// -1 when it overflows.
int64_t checked_product(std::span<const int64_t> shape) {
  std::optional<int64_t> product = 1;
  for (const int64_t extent : shape)
    if (product) product = checked_mul(*product, extent);
  return product.value_or(-1);
}

int64_t values_size(const FeatureValues& values) {
  return std::visit(
      [](const auto& list) -> int64_t {
        if constexpr (std::is_same_v<std::decay_t<decltype(list)>, std::monostate>) return 0;
        else return static_cast<int64_t>(list.size());
      },
      values);
}

void fill_default(const FeatureValues& values, ParsedFeature& feature) {
  feature.type = static_cast<FeatureType>(values.index());
  if (const auto* ints = std::get_if<std::vector<int64_t>>(&values)) feature.ints = *ints;
  if (const auto* floats = std::get_if<std::vector<float>>(&values)) feature.floats = *floats;
  if (const auto* bytes = std::get_if<std::vector<std::string>>(&values))
    feature.bytes.assign(bytes->begin(), bytes->end());
}

void pad(const FeatureSpec& spec, ParsedFeature& feature) {
  const auto length = static_cast<size_t>(spec.length);
  if (spec.type == FeatureType::kInt64) feature.ints.resize(length, spec.padding);
  if (spec.type == FeatureType::kFloat) feature.floats.resize(length);
  if (spec.type == FeatureType::kBytes) feature.bytes.resize(length);
}

// A message of `length` bytes with its tag and length in front.
int64_t framed_size(int64_t length) {
  return 1 + wire::varint_size(static_cast<uint64_t>(length)) + length;
}

// The sizes of the nested messages around one packed list.
struct ListSizes {
  int64_t list, feature, entry;
};
ListSizes list_sizes(std::string_view key, int64_t packed_bytes) {
  const int64_t list = packed_bytes == 0 ? 0 : framed_size(packed_bytes);
  const int64_t feature = framed_size(list);
  return {list, feature, framed_size(static_cast<int64_t>(key.size())) + framed_size(feature)};
}

// Everything of a map entry before the packed values.
void append_entry_start(std::string_view key, FeatureType type, int64_t packed_bytes,
                        std::string& out) {
  const ListSizes sizes = list_sizes(key, packed_bytes);
  wire::append_tag_and_length(1, sizes.entry, out);
  wire::append_tag_and_length(1, static_cast<int64_t>(key.size()), out);
  out.append(key);
  wire::append_tag_and_length(2, sizes.feature, out);
  wire::append_tag_and_length(static_cast<uint32_t>(type), sizes.list, out);
  if (packed_bytes > 0) wire::append_tag_and_length(1, packed_bytes, out);
}

template <class Int>
int64_t packed_size(std::span<const Int> values) {
  int64_t bytes = 0;
  for (const int64_t value : values) bytes += wire::varint_size(static_cast<uint64_t>(value));
  return bytes;
}

template <class Int>
void append_int_entry(std::string_view key, std::span<const Int> values, std::string& out) {
  const int64_t bytes = packed_size(values);
  append_entry_start(key, FeatureType::kInt64, bytes, out);
  const size_t before = out.size();
  out.resize(before + static_cast<size_t>(bytes));
  auto* p = reinterpret_cast<uint8_t*>(out.data() + before);
  for (const int64_t value : values) p = wire::encode_varint(static_cast<uint64_t>(value), p);
}

void append_float_entry(std::string_view key, std::span<const float> values, std::string& out) {
  append_entry_start(key, FeatureType::kFloat, static_cast<int64_t>(values.size_bytes()), out);
  out.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
}

void append_bytes_entry(std::string_view key, const std::vector<std::string>& values,
                        std::string& out) {
  std::string list;
  for (const std::string& value : values) {
    wire::append_tag_and_length(1, static_cast<int64_t>(value.size()), list);
    list += value;
  }
  std::string feature;
  wire::append_tag_and_length(1, static_cast<int64_t>(list.size()), feature);
  feature += list;
  std::string entry;
  wire::append_tag_and_length(1, static_cast<int64_t>(key.size()), entry);
  entry.append(key);
  wire::append_tag_and_length(2, static_cast<int64_t>(feature.size()), entry);
  entry += feature;
  wire::append_tag_and_length(1, static_cast<int64_t>(entry.size()), out);
  out += entry;
}

void append_empty_feature(std::string_view key, std::string& out) {
  std::string entry;
  wire::append_tag_and_length(1, static_cast<int64_t>(key.size()), entry);
  entry.append(key);
  wire::append_tag_and_length(2, 0, entry);
  wire::append_tag_and_length(1, static_cast<int64_t>(entry.size()), out);
  out += entry;
}

}  // namespace

std::string_view feature_type_name(FeatureType type) {
  switch (type) {
    case FeatureType::kNone: return "no kind";
    case FeatureType::kBytes: return "bytes";
    case FeatureType::kFloat: return "float";
    case FeatureType::kInt64: return "int64";
  }
  return "unknown";
}

int64_t ParsedFeature::size() const {
  return static_cast<int64_t>(std::max({ints.size(), floats.size(), bytes.size()}));
}

void ParsedFeature::clear() {
  present = false;
  type = FeatureType::kNone;
  ints.clear();
  floats.clear();
  bytes.clear();
}

Result<Example> parse_example(std::string_view payload) {
  Example example;
  ParsedFeature feature;
  const bool whole =
      visit_features(payload, [&](std::string_view key, std::string_view value, bool first) {
        if (first) feature.clear();
        if (!merge_feature(value, feature)) return false;
        FeatureValues& values = example[std::string(key)];
        switch (feature.type) {
          case FeatureType::kNone: values = std::monostate(); break;
          case FeatureType::kInt64: values = feature.ints; break;
          case FeatureType::kFloat: values = feature.floats; break;
          case FeatureType::kBytes:
            values = std::vector<std::string>(feature.bytes.begin(), feature.bytes.end());
            break;
        }
        return true;
      });
  if (!whole) return not_an_example(payload);
  return example;
}

std::string serialize_example(const Example& example) {
  std::string features;
  for (const auto& [key, values] : example) {
    if (const auto* ints = std::get_if<std::vector<int64_t>>(&values))
      append_int_entry(key, std::span<const int64_t>(*ints), features);
    else if (const auto* floats = std::get_if<std::vector<float>>(&values))
      append_float_entry(key, *floats, features);
    else if (const auto* bytes = std::get_if<std::vector<std::string>>(&values))
      append_bytes_entry(key, *bytes, features);
    else append_empty_feature(key, features);
  }
  std::string out;
  wire::append_tag_and_length(1, static_cast<int64_t>(features.size()), out);
  return out + features;
}

void append_example(std::span<const IntFeature> ints, std::span<const FloatFeature> floats,
                    std::string& out) {
  using Feature = std::variant<IntFeature, FloatFeature>;
  std::vector<Feature> sorted(ints.begin(), ints.end());
  sorted.insert(sorted.end(), floats.begin(), floats.end());
  const auto key = [](const Feature& feature) {
    return std::visit([](const auto& list) { return list.key; }, feature);
  };
  std::ranges::sort(sorted, {}, key);
  int64_t bytes = 0;
  for (const IntFeature& feature : ints)
    bytes += framed_size(list_sizes(feature.key, packed_size(feature.values)).entry);
  for (const FloatFeature& feature : floats) {
    const auto packed = static_cast<int64_t>(feature.values.size_bytes());
    bytes += framed_size(list_sizes(feature.key, packed).entry);
  }
  wire::append_tag_and_length(1, bytes, out);
  for (const Feature& feature : sorted) {
    if (const auto* list = std::get_if<IntFeature>(&feature))
      append_int_entry(list->key, list->values, out);
    else append_float_entry(key(feature), std::get<FloatFeature>(feature).values, out);
  }
}

const std::vector<int64_t>* find_ints(const Example& example, const std::string& key) {
  const auto it = example.find(key);
  return it == example.end() ? nullptr : std::get_if<std::vector<int64_t>>(&it->second);
}

const std::vector<int64_t>* find_either(const Example& example, const char* key,
                                        const char* other) {
  const auto* values = find_ints(example, key);
  return values != nullptr ? values : find_ints(example, other);
}

Result<ExampleParser> ExampleParser::create(std::vector<FeatureSpec> specs) {
  for (size_t i = 0; i < specs.size(); ++i) {
    const FeatureSpec& spec = specs[i];
    if (std::any_of(specs.begin(), specs.begin() + static_cast<std::ptrdiff_t>(i),
                    [&](const FeatureSpec& other) { return other.key == spec.key; })) {
      return fail(Code::kInvalidArgument, "feature '{}' is asked for twice", spec.key);
    }
    if (spec.type == FeatureType::kNone || spec.length < 0) {
      return fail(Code::kInvalidArgument, "feature '{}' needs a type and a length", spec.key);
    }
    if (!spec.shape.empty() && checked_product(spec.shape) != spec.length) {
      return fail(Code::kInvalidArgument, "the shape of feature '{}' does not hold {} values",
                  spec.key, spec.length);
    }
    const auto default_type = static_cast<FeatureType>(spec.default_values.index());
    if (default_type == FeatureType::kNone) continue;
    const int64_t count = values_size(spec.default_values);
    if (default_type != spec.type ||
        (spec.layout == FeatureSpec::Layout::kFixed && count != spec.length) ||
        (spec.layout == FeatureSpec::Layout::kPadded && count > spec.length)) {
      return fail(Code::kInvalidArgument, "the default of feature '{}' does not fit it", spec.key);
    }
  }
  return ExampleParser(std::move(specs));
}

Result<> ExampleParser::parse(std::string_view payload,
                              std::vector<ParsedFeature>& features) const {
  features.resize(specs_.size());
  for (ParsedFeature& feature : features) feature.clear();
  ParsedFeature* current = nullptr;
  ParsedFeature unwanted;
  const bool whole =
      visit_features(payload, [&](std::string_view key, std::string_view value, bool first) {
        if (first) {
          current = &unwanted;
          for (size_t i = 0; i < specs_.size(); ++i) {
            if (specs_[i].key == key) current = &features[i];
          }
          current->clear();
        }
        return merge_feature(value, *current);
      });
  if (!whole) return not_an_example(payload);
  for (size_t i = 0; i < specs_.size(); ++i) {
    features[i].present = features[i].type != FeatureType::kNone;
    HW_RETURN_IF_ERROR(check(specs_[i], features[i], payload));
  }
  return {};
}

Result<> ExampleParser::check(const FeatureSpec& spec, ParsedFeature& feature,
                              std::string_view payload) const {
  using Layout = FeatureSpec::Layout;
  if (!feature.present) {
    const bool has_default = spec.default_values.index() != 0;
    if (!has_default && spec.layout == Layout::kVariable && !spec.required) return {};
    if (!has_default) {
      const auto example = parse_example(payload);
      return fail_hint(Code::kInvalidArgument, "build the records again with this feature",
                       "feature '{}' is missing; found: {}", spec.key,
                       example ? describe_features(*example) : "nothing");
    }
    fill_default(spec.default_values, feature);
  }
  if (feature.type != spec.type) {
    return fail(Code::kInvalidArgument, "feature '{}' holds {}, expected {}", spec.key,
                feature_type_name(feature.type), feature_type_name(spec.type));
  }
  if (spec.layout == Layout::kFixed && feature.size() != spec.length) {
    return fail_hint(
        Code::kInvalidArgument, "the record was written for another length than it is read with",
        "feature '{}' has {} values, expected {}", spec.key, feature.size(), spec.length);
  }
  if (spec.layout == Layout::kPadded) {
    if (feature.size() > spec.length) {
      return fail_hint(Code::kInvalidArgument,
                       "the record was written for a greater length than it is read with",
                       "feature '{}' has {} values, expected at most {}", spec.key, feature.size(),
                       spec.length);
    }
    pad(spec, feature);
  }
  return {};
}

Result<> narrow_to_int32(std::string_view key, std::span<const int64_t> values,
                         std::span<int32_t> out) {
  HW_CHECK(values.size() == out.size());
  uint64_t excess = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const auto narrow = static_cast<int32_t>(values[i]);
    out[i] = narrow;
    excess |= static_cast<uint64_t>(values[i] ^ narrow);
  }
  if (excess == 0) return {};
  const auto fits = [](int64_t value) {
    return value >= std::numeric_limits<int32_t>::min() &&
           value <= std::numeric_limits<int32_t>::max();
  };
  const auto it = std::find_if_not(values.begin(), values.end(), fits);
  return fail(Code::kOutOfRange, "feature '{}': value {} at position {} does not fit 32 bits", key,
              *it, it - values.begin());
}

std::string describe_features(const Example& example) {
  std::string text;
  for (const auto& [key, values] : example) {
    if (!text.empty()) text += ", ";
    const std::string_view type = feature_type_name(static_cast<FeatureType>(values.index()));
    if (values.index() == 0) text += fmt::format("{} ({})", key, type);
    else text += fmt::format("{} ({} {})", key, values_size(values), type);
  }
  return text.empty() ? "no features at all" : text;
}

}  // namespace headwater
