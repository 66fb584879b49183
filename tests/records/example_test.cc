// The Example codec against TensorFlow's golden cases, and against protobuf's own parser.
#include "records/example.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "base/threefry.h"
#include "golden.h"
#include "records/example_oracle.pb.h"
#include "records/record_file.h"

namespace headwater {
namespace {

using Layout = FeatureSpec::Layout;

std::string serialized(const Json& c) {
  return decode_base64(c["serialized_b64"].get<std::string>());
}

// --- protobuf as the oracle

Example from_oracle(const oracle::Example& message) {
  Example example;
  for (const auto& [key, feature] : message.features().feature()) {
    FeatureValues& values = example[key];
    if (feature.has_bytes_list()) {
      const auto& list = feature.bytes_list().value();
      values = std::vector<std::string>(list.begin(), list.end());
    } else if (feature.has_float_list()) {
      const auto& list = feature.float_list().value();
      values = std::vector<float>(list.begin(), list.end());
    } else if (feature.has_int64_list()) {
      const auto& list = feature.int64_list().value();
      values = std::vector<int64_t>(list.begin(), list.end());
    }
  }
  return example;
}

// Equality that takes NaN for equal to itself: by bits.
bool same(const Example& a, const Example& b) {
  return serialize_example(a) == serialize_example(b) && a.size() == b.size();
}

void expect_as_oracle(std::string_view payload) {
  oracle::Example message;
  const bool accepted = message.ParseFromArray(payload.data(), static_cast<int>(payload.size()));
  const auto parsed = parse_example(payload);
  ASSERT_EQ(parsed.has_value(), accepted) << testing::PrintToString(payload);
  if (!accepted) return;
  EXPECT_TRUE(same(*parsed, from_oracle(message))) << testing::PrintToString(payload);
}

// --- golden cases

FeatureValues expected_values(const Json& feature) {
  if (feature["kind"].is_null()) return std::monostate();
  const auto kind = feature["kind"].get<std::string>();
  if (kind == "int64_list") return feature["value"].get<std::vector<int64_t>>();
  if (kind == "bytes_list") {
    std::vector<std::string> list;
    for (const Json& text : feature["value"])
      list.push_back(decode_base64(text.get<std::string>()));
    return list;
  }
  std::vector<float> list;
  for (const Json& text : feature["value"]) list.push_back(std::stof(text.get<std::string>()));
  return list;
}

TEST(ExampleGolden, ProtobufsViewOfEveryCase) {
  const Json cases = golden_json("examples_expected.json");
  ASSERT_EQ(cases.size(), 16u);
  for (const Json& c : cases) {
    SCOPED_TRACE(c["name"].get<std::string>());
    const std::string payload = serialized(c);
    expect_as_oracle(payload);
    const auto parsed = parse_example(payload);
    if (c["protobuf"].contains("error")) {
      ASSERT_FALSE(parsed);
      EXPECT_EQ(parsed.error().code, Code::kDataLoss);
      continue;
    }
    ASSERT_TRUE(parsed);
    Example expected;
    for (const auto& [key, feature] : c["protobuf"].items()) {
      // "1.401298464324817e-45" is below what stof takes; the bits say the same.
      expected[key] =
          c["name"] == "negatives_and_extremes" && key == "f"
              ? FeatureValues(std::vector<float>{0.0f, -0.0f, 1.5f, HUGE_VALF, -HUGE_VALF,
                                                 std::numeric_limits<float>::quiet_NaN(),
                                                 std::numeric_limits<float>::denorm_min(),
                                                 std::numeric_limits<float>::max()})
              : expected_values(feature);
    }
    EXPECT_TRUE(same(*parsed, expected)) << describe_features(*parsed);
  }
}

// What one feature of a case parses to; null for an error.
Json parse_one(const std::string& payload, const FeatureSpec& spec) {
  auto parser = ExampleParser::create({spec});
  EXPECT_TRUE(parser);
  std::vector<ParsedFeature> features;
  if (!parser->parse(payload, features)) return nullptr;
  return features[0].ints;
}

// tf.io.parse_*: VarLen, Ragged and FixedLenSequence are kVariable; FixedLen is kFixed.
// TensorFlow's fast parser differs from protobuf in two cases, where protobuf's answer is ours.
TEST(ExampleGolden, ParseSpecsAsTensorFlow) {
  for (const Json& c : golden_json("examples_expected.json")) {
    const auto name = c["name"].get<std::string>();
    SCOPED_TRACE(name);
    const std::string payload = serialized(c);
    const auto expected = [&](const char* column) {
      return c[column].contains("error") ? Json() : c[column];
    };
    const Json variable = parse_one(payload, {.key = "i", .layout = Layout::kVariable});
    if (name == "mixed_packed_unpacked") {
      EXPECT_EQ(variable, Json({1, 2, 3, 4, 5}));
    } else if (name == "oneof_last_wins") {
      EXPECT_EQ(variable, Json({9}));
    } else {
      EXPECT_EQ(variable, expected("varlen_i"));
      EXPECT_EQ(variable, expected("ragged_i"));
      EXPECT_EQ(variable, expected("fixedseq_i_allow_missing"));
    }
    EXPECT_EQ(parse_one(payload, {.key = "i", .length = 3}), expected("fixed_i3"));
    EXPECT_EQ(
        parse_one(payload,
                  {.key = "i", .length = 3, .default_values = std::vector<int64_t>{-5, -5, -5}}),
        expected("fixed_i3_default"));
  }
}

TEST(ExampleGolden, FloatAndBytesSpecs) {
  const Json cases = golden_json("examples_expected.json");
  const std::string payload = serialized(cases[1]);
  const auto parser = ExampleParser::create(
      {{.key = "f", .type = FeatureType::kFloat, .length = 8},
       {.key = "b", .type = FeatureType::kBytes, .layout = Layout::kPadded, .length = 4}});
  ASSERT_TRUE(parser);
  std::vector<ParsedFeature> features;
  ASSERT_TRUE(parser->parse(payload, features));
  EXPECT_EQ(features[0].floats[2], 1.5f);
  EXPECT_TRUE(std::signbit(features[0].floats[1]));
  EXPECT_TRUE(std::isnan(features[0].floats[5]));
  EXPECT_EQ(features[1].bytes,
            (std::vector<std::string_view>{"", std::string_view("\x00\xff", 2), "한글", ""}));
}

TEST(ExampleGolden, WritesTensorFlowsBytes) {
  for (const Json& c : golden_json("examples_expected.json")) {
    const auto name = c["name"].get<std::string>();
    if (name != "electra_like" && name != "negatives_and_extremes" && name != "empty_lists")
      continue;
    EXPECT_EQ(serialize_example(*parse_example(serialized(c))), serialized(c)) << name;
  }
  const std::vector<int32_t> ids = {2, 5, 6, 7, 3, 0, 0, 0}, mask = {1, 1, 1, 1, 1, 0, 0, 0},
                             segments(8, 0);
  std::string bytes;
  append_example(
      std::vector<IntFeature>{{"segment_ids", segments}, {"input_ids", ids}, {"input_mask", mask}},
      bytes);
  EXPECT_EQ(bytes, serialized(golden_json("examples_expected.json")[0]));
}

TEST(Example, ListsAtHandGiveTheBytesOfAnExample) {
  const std::vector<int32_t> positions = {3, 7}, none;
  const std::vector<float> weights = {1, 0.5F}, no_weights;
  const std::vector<IntFeature> ints = {{"z", none}, {"masked_lm_positions", positions}};
  const std::vector<FloatFeature> floats = {{"masked_lm_weights", weights}, {"a", no_weights}};
  std::string bytes;
  append_example(ints, floats, bytes);
  EXPECT_EQ(bytes, serialize_example({{"masked_lm_positions", std::vector<int64_t>{3, 7}},
                                      {"masked_lm_weights", weights},
                                      {"z", std::vector<int64_t>()},
                                      {"a", std::vector<float>()}}));
}

// --- cases of the bug reports

std::string first_record(const std::string& name, int64_t skip = 0) {
  auto reader = RecordReader::open(local_files(), golden_path(name));
  EXPECT_TRUE(reader);
  std::string payload;
  for (int64_t i = 0; i <= skip; ++i) EXPECT_TRUE(*reader->next(payload));
  return payload;
}

std::vector<FeatureSpec> electra_specs(int64_t length, Layout layout = Layout::kFixed) {
  std::vector<FeatureSpec> specs;
  for (const char* key : {"input_ids", "input_mask", "segment_ids"})
    specs.push_back({.key = key, .layout = layout, .length = length});
  return specs;
}

std::string error_of(const std::vector<FeatureSpec>& specs, const std::string& payload) {
  std::vector<ParsedFeature> features;
  const auto parser = ExampleParser::create(specs);
  const auto result = parser->parse(payload, features);
  return result ? "no error" : result.error().to_string();
}

TEST(ExampleCases, EmptyListsAndNoKind) {
  const auto parsed = parse_example(first_record("cases/tfr_empty_feature.tfrecord"));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(describe_features(*parsed),
            "extra (0 int64), input_ids (16 int64), input_mask (16 int64), no_kind (no kind), "
            "segment_ids (16 int64)");
  EXPECT_EQ(parse_one(first_record("cases/tfr_empty_feature.tfrecord"),
                      {.key = "extra", .layout = Layout::kVariable}),
            Json(std::vector<int64_t>()));
}

TEST(ExampleCases, Int64Extremes) {
  const auto parsed = parse_example(first_record("cases/tfr_int64_extremes.tfrecord"));
  ASSERT_TRUE(parsed);
  const auto& values = std::get<std::vector<int64_t>>(parsed->at("v"));
  EXPECT_EQ(values, (std::vector<int64_t>{-1, 0, 127, 128, int64_t{1} << 31, int64_t{1} << 40,
                                          std::numeric_limits<int64_t>::max(),
                                          std::numeric_limits<int64_t>::min()}));
  std::vector<int32_t> narrow(values.size());
  EXPECT_EQ(narrow_to_int32("v", values, narrow).error().message,
            "feature 'v': value 2147483648 at position 4 does not fit 32 bits");
  EXPECT_TRUE(narrow_to_int32("v", std::span(values).first(4), std::span(narrow).first(4)));
  EXPECT_EQ(narrow[0], -1);
}

TEST(ExampleCases, MixedLengths) {
  const std::string name = "cases/tfr_mixed_seq_len.tfrecord";
  EXPECT_EQ(error_of(electra_specs(32), first_record(name)), "no error");
  EXPECT_EQ(error_of(electra_specs(32), first_record(name, 1)),
            "feature 'input_ids' has 64 values, expected 32; the record was written for another "
            "length than it is read with");
  EXPECT_EQ(error_of(electra_specs(64, Layout::kPadded), first_record(name)), "no error");
  EXPECT_EQ(error_of(electra_specs(32, Layout::kPadded), first_record(name, 1)),
            "feature 'input_ids' has 64 values, expected at most 32; the record was written for a "
            "greater length than it is read with");
  const auto parser = ExampleParser::create(
      {{.key = "input_ids", .layout = Layout::kPadded, .length = 64, .padding = 7}});
  std::vector<ParsedFeature> features;
  ASSERT_TRUE(parser->parse(first_record(name), features));
  EXPECT_EQ(features[0].ints.size(), 64u);
  EXPECT_EQ(features[0].ints[63], 7);
}

TEST(ExampleCases, MissingFeature) {
  const std::string payload = first_record("cases/tfr_missing_key.tfrecord");
  EXPECT_EQ(error_of(electra_specs(16), payload),
            "feature 'segment_ids' is missing; found: input_ids (16 int64), input_mask (16 int64); "
            "build the records again with this feature");
  auto specs = electra_specs(16);
  specs[2].default_values = std::vector<int64_t>(16, 0);
  EXPECT_EQ(error_of(specs, payload), "no error");
  EXPECT_EQ(error_of(specs, "not an example"),
            "its 14 bytes are not a tf.train.Example: the protobuf message is damaged; was this "
            "record written as tf.train.Example?");
  EXPECT_EQ(error_of(electra_specs(16), ""),
            "feature 'input_ids' is missing; found: no features at all; build the records again "
            "with this feature");
}

TEST(ExampleParserTest, ChecksItsSpecs) {
  const auto refused = [](std::vector<FeatureSpec> specs) {
    return !ExampleParser::create(std::move(specs)).has_value();
  };
  EXPECT_TRUE(refused({{.key = "a"}, {.key = "a"}}));
  EXPECT_TRUE(refused({{.key = "a", .length = -1}}));
  EXPECT_TRUE(refused({{.key = "a", .type = FeatureType::kNone}}));
  EXPECT_TRUE(refused({{.key = "a", .length = 2, .default_values = std::vector<int64_t>{1}}}));
  EXPECT_TRUE(refused({{.key = "a", .length = 1, .default_values = std::vector<float>{1}}}));
  EXPECT_FALSE(refused({{.key = "a", .length = 1, .default_values = std::vector<int64_t>{1}}}));
}

TEST(ExampleParserTest, ReusedMemoryHoldsNothingOfTheLastRecord) {
  const auto parser = ExampleParser::create(
      {{.key = "a", .layout = Layout::kVariable}, {.key = "b", .layout = Layout::kVariable}});
  std::vector<ParsedFeature> features;
  ASSERT_TRUE(parser->parse(
      serialize_example({{"a", std::vector<int64_t>{1, 2}}, {"b", std::vector<int64_t>{3}}}),
      features));
  ASSERT_TRUE(parser->parse(serialize_example({{"b", std::vector<int64_t>{4}}}), features));
  EXPECT_FALSE(features[0].present);
  EXPECT_EQ(features[0].size(), 0);
  EXPECT_EQ(features[1].ints, std::vector<int64_t>{4});
}

// --- properties

RC_GTEST_PROP(ExampleProperty, IntsRoundTrip, (const std::vector<int64_t>& values)) {
  const Example example = {{"key", values}};
  const std::string bytes = serialize_example(example);
  RC_ASSERT(*parse_example(bytes) == example);
  oracle::Example message;
  RC_ASSERT(message.ParseFromString(bytes));
  RC_ASSERT(from_oracle(message) == example);
}

RC_GTEST_PROP(ExampleProperty, AllKindsRoundTripAndProtobufWritesTheSame,
              (const std::map<std::string, std::vector<int64_t>>& ints,
               const std::vector<std::string>& bytes, const std::vector<float>& floats)) {
  Example example;
  for (const auto& [key, values] : ints) example["i" + key] = values;
  example["b"] = bytes;
  example["f"] = floats;
  const std::string written = serialize_example(example);
  RC_ASSERT(*parse_example(written) == example);
  oracle::Example message;
  RC_ASSERT(message.ParseFromString(written));
  RC_ASSERT(message.ByteSizeLong() == written.size());
}

TEST(ExampleProperty, VarintsOfEveryLengthAtEveryPlace) {
  RandomStream random(Key::from_seed(5));
  for (int round = 0; round < 3000; ++round) {
    std::vector<int64_t> values(random.below(24));
    for (int64_t& value : values) {
      const uint64_t word = random.below(~uint64_t{0});
      value = static_cast<int64_t>(random.below(2) == 0 ? word & 0x7F : word >> random.below(64));
    }
    expect_as_oracle(serialize_example({{"v", values}}));
    EXPECT_EQ(
        std::get<std::vector<int64_t>>(parse_example(serialize_example({{"v", values}}))->at("v")),
        values);
  }
}

// Fuzz against protobuf: the same messages are taken, and the same values come out.
TEST(ExampleFuzz, MutatedMessagesAsProtobuf) {
  std::vector<std::string> seeds;
  for (const Json& c : golden_json("examples_expected.json")) seeds.push_back(serialized(c));
  RandomStream random(Key::from_seed(99));
  const auto parser = ExampleParser::create(
      {{.key = "i", .layout = Layout::kVariable},
       {.key = "f", .type = FeatureType::kFloat, .layout = Layout::kVariable},
       {.key = "b", .type = FeatureType::kBytes, .layout = Layout::kVariable}});
  std::vector<ParsedFeature> features;
  for (int round = 0; round < 60000; ++round) {
    std::string bytes = seeds[random.below(seeds.size())];
    for (uint64_t edits = 1 + random.below(3); edits > 0 && !bytes.empty(); --edits) {
      const size_t at = random.below(bytes.size());
      switch (random.below(5)) {
        case 0: bytes[at] = static_cast<char>(random.below(256)); break;
        case 1: bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.below(8))); break;
        case 2: bytes.erase(at, 1 + random.below(3)); break;
        case 3: bytes.insert(at, 1 + random.below(11), '\xff'); break;
        case 4: bytes += seeds[random.below(seeds.size())]; break;
      }
    }
    ASSERT_NO_FATAL_FAILURE(expect_as_oracle(bytes));
    const auto all = parse_example(bytes);
    const auto some = parser->parse(bytes, features);
    if (!all) {
      EXPECT_FALSE(some);
    } else if (some && all->contains("i")) {
      const auto* ints = std::get_if<std::vector<int64_t>>(&all->at("i"));
      EXPECT_EQ(features[0].ints, ints != nullptr ? *ints : std::vector<int64_t>());
    }
  }
}

}  // namespace
}  // namespace headwater
