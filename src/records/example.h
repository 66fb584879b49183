// tf.train.Example: named lists of int64, float or bytes, in protobuf's wire format, read and
// written by hand (docs/formats/example.md).
//
// Two ways to read: ExampleParser takes wanted features out of many records into reused memory;
// parse_example takes everything out of one. Files are not known here: callers put the file and the
// record in front of an error.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"

namespace headwater {

enum class FeatureType : uint8_t { kNone, kBytes, kFloat, kInt64 };  // the numbers of the format
std::string_view feature_type_name(FeatureType type);

// kNone, kBytes, kFloat, kInt64 by position. A feature of no kind counts as missing.
using FeatureValues = std::variant<std::monostate, std::vector<std::string>, std::vector<float>,
                                   std::vector<int64_t>>;
using Example = std::map<std::string, FeatureValues>;

// All features of a record.
Result<Example> parse_example(std::string_view payload);
// Sorted keys, packed lists: equal examples give equal bytes.
std::string serialize_example(const Example& example);

// The same bytes for features of int64 whose values are at hand as int32, and of float: what
// builders write. Appends to `out`.
struct IntFeature {
  std::string_view key;
  std::span<const int32_t> values;
};
struct FloatFeature {
  std::string_view key;
  std::span<const float> values;
};
void append_example(std::span<const IntFeature> ints, std::span<const FloatFeature> floats,
                    std::string& out);
inline void append_example(std::span<const IntFeature> ints, std::string& out) {
  append_example(ints, {}, out);
}

// The values of a feature of int64; null when there is none of that name and type.
const std::vector<int64_t>* find_ints(const Example& example, const std::string& key);
// Under the first of two names that the example has: google's and Hugging Face's.
const std::vector<int64_t>* find_either(const Example& example, const char* key, const char* other);

struct FeatureSpec {
  enum class Layout {
    kFixed,    // exactly `length` values
    kPadded,   // up to `length` values, filled up with `padding`
    kVariable  // any number; a missing feature is an empty list
  };
  std::string key;
  FeatureType type = FeatureType::kInt64;
  Layout layout = Layout::kFixed;
  int64_t length = 0;
  // kFixed, kPadded: stands in for a missing feature, not for an empty list; of `type`. None: a
  // missing feature is an error.
  FeatureValues default_values = {};
  int64_t padding = 0;  // int64 features; floats are padded with 0, bytes with ""
  // kFixed: what `length` values are one record of, [] for a single value; else empty.
  std::vector<int64_t> shape = {};
  bool required = false;  // kVariable: a missing feature is an error, an empty list is not
};

// One feature of one record; the vector of its type is filled.
struct ParsedFeature {
  bool present = false;  // the record has it; false where a default stands in
  FeatureType type = FeatureType::kNone;
  std::vector<int64_t> ints;
  std::vector<float> floats;
  std::vector<std::string_view> bytes;  // into the payload, or into the parser's defaults
  int64_t size() const;
  void clear();
};

class ExampleParser {
 public:
  // An error when a key comes twice, a length is negative, or a shape or a default does not fit.
  static Result<ExampleParser> create(std::vector<FeatureSpec> specs);

  // Fills features[i] for specs()[i]. May be called from several threads. `features` keeps its
  // memory from call to call.
  Result<> parse(std::string_view payload, std::vector<ParsedFeature>& features) const;
  const std::vector<FeatureSpec>& specs() const { return specs_; }

 private:
  explicit ExampleParser(std::vector<FeatureSpec> specs) : specs_(std::move(specs)) {}
  Result<> check(const FeatureSpec& spec, ParsedFeature& feature, std::string_view payload) const;

  std::vector<FeatureSpec> specs_;
};

// int64 values of feature `key` as the int32 that devices take. A value out of range is an error;
// `out` has the length of `values`.
Result<> narrow_to_int32(std::string_view key, std::span<const int64_t> values,
                         std::span<int32_t> out);

// "input_ids (32 int64), segment_ids (32 int64)"; for messages.
std::string describe_features(const Example& example);

}  // namespace headwater
