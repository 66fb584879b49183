// Feature specs in words and in JSON, and what records parse to by them.
#include "records/feature_specs.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>

#include "base/threefry.h"
#include "io/memory_files.h"

namespace headwater {
namespace {

using Layout = FeatureSpec::Layout;

std::vector<FeatureSpec> parse(std::string_view text) {
  auto specs = parse_feature_specs(text);
  EXPECT_TRUE(specs.has_value()) << specs.error().to_string();
  return specs ? *std::move(specs) : std::vector<FeatureSpec>{};
}

std::string error_of(std::string_view text) {
  const auto specs = parse_feature_specs(text);
  EXPECT_FALSE(specs.has_value()) << text;
  return specs ? "" : specs.error().to_string();
}

TEST(FeatureSpecs, InWords) {
  const auto specs = parse(
      "input_ids:int64[], attention_mask : int64[]? ,label:int64=-100,box:float[2, 2],"
      "pair:int64[2]=[7, -8],name:bytes=\"a, \\\"b\\\"]\", tags:bytes[]=[x, y]");
  ASSERT_EQ(specs.size(), 7u);
  EXPECT_EQ(specs[0].key, "input_ids");
  EXPECT_EQ(specs[0].layout, Layout::kVariable);
  EXPECT_TRUE(specs[0].required);
  EXPECT_EQ(specs[1].key, "attention_mask");
  EXPECT_FALSE(specs[1].required);
  EXPECT_EQ(specs[2].layout, Layout::kFixed);
  EXPECT_EQ(specs[2].length, 1);
  EXPECT_TRUE(specs[2].shape.empty());
  EXPECT_EQ(specs[2].default_values, FeatureValues(std::vector<int64_t>{-100}));
  EXPECT_EQ(specs[3].type, FeatureType::kFloat);
  EXPECT_EQ(specs[3].shape, (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(specs[3].length, 4);
  EXPECT_EQ(specs[4].default_values, FeatureValues(std::vector<int64_t>{7, -8}));
  EXPECT_EQ(specs[5].default_values, FeatureValues(std::vector<std::string>{"a, \"b\"]"}));
  EXPECT_EQ(specs[6].default_values, FeatureValues(std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(parse("m:float[3]=0.5")[0].default_values,
            FeatureValues(std::vector<float>{0.5f, 0.5f, 0.5f}));
}

TEST(FeatureSpecs, WhatIsWrongAndWhere) {
  EXPECT_NE(error_of("").find("no features are named"), std::string::npos);
  EXPECT_NE(error_of("input_ids").find("'input_ids' is not NAME:TYPE"), std::string::npos);
  EXPECT_NE(error_of("a:int64,").find("'' is not NAME:TYPE"), std::string::npos);
  EXPECT_EQ(error_of("a:int32"),
            "feature 'a': unknown type 'int32'; the types of a record are int64, float and bytes");
  EXPECT_NE(error_of("a:int64[").find("'[' without ']'"), std::string::npos);
  EXPECT_NE(error_of("a:int64[x]").find("'x' is no extent"), std::string::npos);
  EXPECT_NE(error_of("a:int64[-1]").find("out of range"), std::string::npos);
  EXPECT_NE(error_of("a:int64[99999999,99999999]").find("out of range"), std::string::npos);
  EXPECT_NE(error_of("a:int64[1,1,1,1,1,1,1,1,1]").find("at most 8"), std::string::npos);
  EXPECT_NE(error_of("a:int64!").find("int64!"), std::string::npos);
  EXPECT_NE(error_of("a:int64[]!").find("'!' is not understood"), std::string::npos);
  EXPECT_NE(error_of("a:int64?").find("needs a default"), std::string::npos);
  EXPECT_NE(error_of("a:int64=x").find("the default 'x' is no int64"), std::string::npos);
  EXPECT_NE(error_of("a:int64=1.5").find("is no int64"), std::string::npos);
  EXPECT_NE(error_of("a:float=").find("is no float"), std::string::npos);
  EXPECT_NE(error_of("a:int64[3]=[1]").find("1 default values for a shape of 3"),
            std::string::npos);
  EXPECT_NE(error_of("a:int64[]=1").find("no default for a list"), std::string::npos);
  EXPECT_NE(error_of("a:bytes=\"x").find("default"), std::string::npos);
  EXPECT_NE(error_of("a:int64,a:float").find("'a' is asked for twice"), std::string::npos);
}

TEST(FeatureSpecs, InJson) {
  MemoryFileSystem fs;
  fs.put("f.json", R"({"input_ids": "int64[]",
    "attention_mask": {"type": "int64", "optional": true},
    "label": {"type": "int64", "shape": [], "default": -100},
    "w": {"type": "float", "shape": [2], "default": [1, 2.5]},
    "name": {"type": "bytes", "shape": [], "default": "a,b"}})");
  const auto specs = read_feature_specs(fs, "f.json");
  ASSERT_TRUE(specs.has_value()) << specs.error().to_string();
  EXPECT_EQ(feature_specs_text(*specs),
            "input_ids:int64[], attention_mask:int64[]?, label:int64=[-100], w:float[2]=[1, 2.5], "
            "name:bytes=[\"a,b\"]");
  EXPECT_EQ(feature_specs_text(*read_feature_specs(fs, "{\"a\": \"float[]?\"}")), "a:float[]?");
  EXPECT_EQ(feature_specs_text(*read_feature_specs(fs, " a:float[]?")), "a:float[]?");
  const auto error = [&](const std::string& json) {
    const auto read = read_feature_specs(fs, json);
    EXPECT_FALSE(read.has_value()) << json;
    return read ? "" : read.error().to_string();
  };
  EXPECT_NE(error("missing.json").find("missing.json"), std::string::npos);
  EXPECT_NE(error("{").find("features"), std::string::npos);
  EXPECT_NE(error("{}").find("no features"), std::string::npos);
  EXPECT_NE(error("{\"a\": 3}").find("a text or an object"), std::string::npos);
  EXPECT_NE(error("{\"a\": {}}").find("\"type\" must be"), std::string::npos);
  EXPECT_NE(error("{\"a\": {\"type\": 3}}").find("\"type\" must be"), std::string::npos);
  EXPECT_NE(error("{\"a\": {\"type\": \"int64\", \"shap\": 1}}").find("unknown key 'shap'"),
            std::string::npos);
  EXPECT_NE(error("{\"a\": {\"type\": \"int64\", \"shape\": 3}}").find("\"shape\" must be"),
            std::string::npos);
  EXPECT_NE(error("{\"a\": {\"type\": \"int64\", \"shape\": [1e30]}}").find("\"shape\" must be"),
            std::string::npos);
  EXPECT_NE(error("{\"a\": {\"type\": \"int64\", \"optional\": 1}}").find("true or false"),
            std::string::npos);
  EXPECT_NE(
      error("{\"a\": {\"type\": \"int64\", \"shape\": [2], \"default\": {}}}").find("no int64"),
      std::string::npos);
}

RC_GTEST_PROP(FeatureSpecs, TextReadsBackTheSame, ()) {
  std::vector<FeatureSpec> specs;
  const auto count = *rc::gen::inRange<size_t>(1, 5);
  for (size_t i = 0; i < count; ++i) {
    FeatureSpec spec;
    spec.key = fmt::format("f{}", i);
    spec.type = static_cast<FeatureType>(*rc::gen::inRange(1, 4));
    spec.layout = *rc::gen::element(Layout::kVariable, Layout::kFixed);
    size_t values = 3;
    if (spec.layout == Layout::kFixed) {
      spec.shape = *rc::gen::container<std::vector<int64_t>>(rc::gen::inRange<int64_t>(0, 4));
      if (spec.shape.size() > 4) spec.shape.resize(4);
      spec.length = 1;
      for (const int64_t extent : spec.shape) spec.length *= extent;
      values = static_cast<size_t>(spec.length);
    } else {
      spec.required = *rc::gen::arbitrary<bool>();
    }
    if (*rc::gen::arbitrary<bool>() && !spec.required) {
      if (spec.type == FeatureType::kInt64)
        spec.default_values =
            *rc::gen::container<std::vector<int64_t>>(values, rc::gen::arbitrary<int64_t>());
      if (spec.type == FeatureType::kFloat)
        spec.default_values = *rc::gen::container<std::vector<float>>(
            values, rc::gen::map(rc::gen::inRange(-99, 99), [](int n) { return 0.1f * n; }));
      if (spec.type == FeatureType::kBytes)
        spec.default_values =
            *rc::gen::container<std::vector<std::string>>(values, rc::gen::string<std::string>());
    }
    specs.push_back(spec);
  }
  const auto is_utf8 = [&] {
    for (const FeatureSpec& spec : specs)
      if (const auto* texts = std::get_if<std::vector<std::string>>(&spec.default_values))
        for (const std::string& text : *texts)
          for (const char c : text)
            if (static_cast<signed char>(c) < 0) return false;
    return true;
  };
  RC_PRE(is_utf8());
  const std::string text = feature_specs_text(specs);
  const auto again = parse_feature_specs(text);
  RC_ASSERT(again.has_value());
  RC_ASSERT(feature_specs_text(*again) == text);
  for (size_t i = 0; i < count; ++i) {
    RC_ASSERT((*again)[i].default_values == specs[i].default_values);
    RC_ASSERT((*again)[i].length == specs[i].length);
    RC_ASSERT((*again)[i].required == specs[i].required);
  }
}

TEST(FeatureSpecs, NoTextBreaksTheReader) {
  RandomStream random(Key::from_seed(1));
  const std::string seed =
      "input_ids:int64[], attention_mask:int64[]?, w:float[2]=[1, 2], n:bytes=\"x\", l:int64=3";
  constexpr std::string_view kSigns = "[]?=,:\"\\ 09-xe";
  for (int round = 0; round < 20000; ++round) {
    std::string text = seed;
    for (uint64_t edits = 1 + random.below(4); edits > 0; --edits) {
      const size_t at = random.below(text.size());
      if (random.below(2) == 0) text.erase(at, 1 + random.below(4));
      else text.insert(at, 1, kSigns[random.below(kSigns.size())]);
      if (text.empty()) break;
    }
    const auto specs = parse_feature_specs(text);
    if (!specs) continue;
    EXPECT_TRUE(parse_feature_specs(feature_specs_text(*specs)).has_value()) << text;
  }
}

std::string record(const Example& example) { return serialize_example(example); }

TEST(FeatureSpecs, RecordsParseByThem) {
  const auto parser = *ExampleParser::create(
      parse("ids:int64[], mask:int64[]?, label:int64[2]=[-1, -2], w:float, name:bytes[]=[none]"));
  std::vector<ParsedFeature> features;
  ASSERT_TRUE(parser.parse(record({{"ids", std::vector<int64_t>{5, 6}},
                                   {"w", std::vector<float>{0.5f}},
                                   {"other", std::vector<float>{1}}}),
                           features));
  EXPECT_EQ(features[0].ints, (std::vector<int64_t>{5, 6}));
  EXPECT_TRUE(features[0].present);
  EXPECT_FALSE(features[1].present);
  EXPECT_EQ(features[1].size(), 0);
  EXPECT_EQ(features[2].ints, (std::vector<int64_t>{-1, -2}));
  EXPECT_EQ(features[4].bytes, (std::vector<std::string_view>{"none"}));
  const auto error = [&](const Example& example) {
    const auto parsed = parser.parse(record(example), features);
    EXPECT_FALSE(parsed.has_value());
    return parsed ? "" : parsed.error().to_string();
  };
  EXPECT_EQ(error({{"id", std::vector<int64_t>{5}}, {"w", std::vector<float>{1}}}),
            "feature 'ids' is missing; found: id (1 int64), w (1 float); build the records again "
            "with this feature");
  EXPECT_EQ(error({{"ids", std::vector<float>{5}}, {"w", std::vector<float>{1}}}),
            "feature 'ids' holds float, expected int64");
  EXPECT_NE(error({{"ids", std::vector<int64_t>{5}}, {"w", std::vector<float>{1, 2}}})
                .find("feature 'w' has 2 values, expected 1"),
            std::string::npos);
  // As TensorFlow: an empty list is not a missing feature.
  EXPECT_NE(error({{"ids", std::vector<int64_t>{}},
                   {"w", std::vector<float>{1}},
                   {"label", std::vector<int64_t>{}}})
                .find("feature 'label' has 0 values, expected 2"),
            std::string::npos);
}

}  // namespace
}  // namespace headwater
