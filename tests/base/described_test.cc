// Described structs: JSON both ways, texts, ranges, origins, layers, advice.
#include "base/described.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>

namespace headwater {
namespace {

struct Options {
  bool shuffle = true;
  int64_t steps = 10;
  double rate = 0.5;
  std::string format = "ids";
  std::vector<std::string> words = {"a"};
  std::optional<bool> strip;
  std::optional<int64_t> width;
  std::optional<double> ratio;
  std::optional<std::string> preset;
  std::string overrides = "{}";

  void describe(Fields& f) {
    f("shuffle", shuffle, "mix");
    f("steps", steps, "how many").range(1, 1e12).alias("max-steps");
    f("rate", rate, "how fast").positive();
    f("format", format, "how").one_of({"ids", "tokens"});
    f("words", words, "which");
    f("strip", strip, "marks");
    f("width", width, "columns").non_negative();
    f("ratio", ratio, "share").range(0, 1);
    f("preset", preset, "recipe").one_of({"tiny"});
    f("overrides", overrides, "anything").json();
  }
};

struct Described {
  Options options;
  Fields fields;
  Described() { options.describe(fields); }
};

std::string text_error(std::string_view name, std::string_view text) {
  Described d;
  const auto result = d.fields.set_text(name, text, "--flag");
  return result ? "no error" : result.error().to_string();
}

std::string json_error(std::string_view text) {
  Described d;
  const auto result = d.fields.set_json_text(text, "run.json");
  return result ? "no error" : result.error().to_string();
}

TEST(Described, JsonRoundTrip) {
  Described d;
  const std::string text =
      R"({"shuffle":false,"steps":5000000000,"rate":0.0001,"format":"tokens","words":["x","y"],)"
      R"("strip":true,"width":null,"ratio":0.25,"preset":null,"overrides":{"k":[1,{"z":null}]}})";
  ASSERT_TRUE(d.fields.set_json_text(text, "run.json"));
  EXPECT_EQ(dump_json(d.fields.to_json()), text);
  EXPECT_EQ(d.options.steps, 5000000000);
  Described again;
  ASSERT_TRUE(again.fields.set_json(d.fields.to_json(), "copy"));
  EXPECT_EQ(again.fields.to_json(), d.fields.to_json());
}

TEST(Described, TextForms) {
  Described d;
  const auto set = [&](std::string_view name, std::string_view text) {
    const auto result = d.fields.set_text(name, text, "--x");
    ASSERT_TRUE(result) << result.error().to_string();
  };
  set("max_steps", "2e6");
  EXPECT_EQ(d.options.steps, 2000000);
  set("steps", "3.0");
  EXPECT_EQ(d.options.steps, 3);
  set("rate", "1e-3");
  EXPECT_EQ(d.fields.find("rate")->text(), "0.001");
  set("shuffle", "OFF");
  EXPECT_FALSE(d.options.shuffle);
  set("strip", "yes");
  EXPECT_EQ(d.options.strip, true);
  set("strip", "auto");
  EXPECT_EQ(d.options.strip, std::nullopt);
  EXPECT_EQ(d.fields.find("strip")->text(), "auto");
  EXPECT_EQ(d.fields.find("preset")->text(), "none");
  set("overrides", "{\"a\" : 1}");
  EXPECT_EQ(d.options.overrides, "{\"a\":1}");
}

TEST(Described, ListsGrowWithinAnOrigin) {
  Described d;
  ASSERT_TRUE(d.fields.set_text("words", "x", "--words"));
  ASSERT_TRUE(d.fields.set_text("words", "y", "--words"));
  EXPECT_EQ(d.options.words, (std::vector<std::string>{"x", "y"}));
  ASSERT_TRUE(d.fields.set_json_text(R"({"words": []})", "run.json"));
  EXPECT_TRUE(d.options.words.empty());
  ASSERT_TRUE(d.fields.set_text("words", "z", "--words"));
  EXPECT_EQ(d.options.words, std::vector<std::string>{"z"});
}

TEST(Described, DefaultsYieldToWhatWasGiven) {
  Described d;
  ASSERT_TRUE(d.fields.set_text("steps", "7", "--steps"));
  Json preset = Json::parse(R"({"steps": 100, "rate": 0.1})");
  ASSERT_TRUE(d.fields.set_defaults(preset, "preset a"));
  preset = Json::parse(R"({"rate": 0.2, "format": "tokens"})");
  ASSERT_TRUE(d.fields.set_defaults(preset, "preset b"));
  EXPECT_EQ(d.options.steps, 7);
  EXPECT_EQ(d.options.rate, 0.1);
  EXPECT_EQ(d.options.format, "tokens");
  EXPECT_EQ(d.fields.find("steps")->origin, "--steps");
  EXPECT_EQ(d.fields.find("rate")->origin, "preset a");
  EXPECT_EQ(d.fields.find("format")->origin, "preset b");
  EXPECT_EQ(d.fields.find("shuffle")->origin, "default");
}

TEST(Described, MistakesInTexts) {
  EXPECT_EQ(text_error("stepz", "1"), "unknown option 'stepz'; did you mean --steps?");
  EXPECT_EQ(text_error("qqqqqqqq", "1"), "unknown option 'qqqqqqqq'");
  EXPECT_EQ(text_error("steps", ""), "--steps wants a whole number, got ''");
  EXPECT_EQ(text_error("steps", "1e30"), "--steps wants a whole number, got '1e30'");
  EXPECT_EQ(text_error("steps", "99999999999999999999"),
            "--steps wants a whole number, got '99999999999999999999'");
  EXPECT_EQ(text_error("steps", "0"),
            "--steps must be at least 1 and at most 1000000000000, got 0");
  EXPECT_EQ(text_error("rate", "nan"), "--rate wants a number, got 'nan'");
  EXPECT_EQ(text_error("rate", "inf"), "--rate wants a number, got 'inf'");
  EXPECT_EQ(text_error("rate", "1,5"), "--rate wants a number, got '1,5'");
  EXPECT_EQ(text_error("rate", "0"), "--rate must be over 0, got 0");
  EXPECT_EQ(text_error("ratio", "1.5"), "--ratio must be at least 0 and at most 1, got 1.5");
  EXPECT_EQ(text_error("format", "xml"), "--format must be one of ids, tokens, got 'xml'");
  EXPECT_EQ(text_error("preset", "huge"), "--preset must be one of tiny, got 'huge'");
  EXPECT_EQ(text_error("strip", "maybe"), "--strip wants true or false, got 'maybe'");
}

TEST(Described, MistakesInJson) {
  EXPECT_EQ(json_error("[]"), "run.json is not a JSON object: {\"name\": value, ...}");
  EXPECT_EQ(json_error(R"({"step": 1})"),
            "run.json: unknown key \"step\"; did you mean \"steps\"?");
  EXPECT_EQ(json_error(R"({"steps": true})"), "run.json: \"steps\" has the wrong type: true");
  EXPECT_EQ(json_error(R"({"steps": null})"), "run.json: \"steps\" has the wrong type: null");
  EXPECT_EQ(json_error(R"({"steps": [1]})"), "run.json: \"steps\" has the wrong type: [1]");
  EXPECT_EQ(json_error(R"({"steps": 1.5})"), "run.json: \"steps\" wants a whole number, got '1.5'");
  EXPECT_EQ(json_error(R"({"shuffle": 1})"), "run.json: \"shuffle\" has the wrong type: 1");
  EXPECT_EQ(json_error(R"({"format": 5})"), "run.json: \"format\" has the wrong type: 5");
  EXPECT_EQ(json_error(R"({"words": "a"})"), "run.json: \"words\" has the wrong type: \"a\"");
  EXPECT_EQ(json_error(R"({"words": [1]})"), "run.json: \"words\" has the wrong type: [1]");
  EXPECT_EQ(json_error(R"({"max-steps": 0})"),
            "run.json: \"max-steps\" must be at least 1 and at most 1000000000000, got 0");
}

TEST(Described, NearestNames) {
  const std::vector<std::string> names = {"learning_rate", "max_seq_length", "seed"};
  EXPECT_EQ(nearest_name("learning_rat", names), "learning_rate");
  EXPECT_EQ(nearest_name("max_length", names), "max_seq_length");
  EXPECT_EQ(nearest_name("seq_length", names), "max_seq_length");
  EXPECT_EQ(nearest_name("sed", names), "seed");
  EXPECT_EQ(nearest_name("batch", names), "");
  EXPECT_EQ(nearest_name("", names), "");
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
  EXPECT_EQ(edit_distance("", "abc"), 3);
}

RC_GTEST_PROP(Described, NumbersRoundTripThroughJson, (int64_t steps, double rate)) {
  Described d;
  d.options.steps = std::abs(steps % 1000000000000) + 1;
  d.options.rate = std::abs(rate) + 1e-300;
  Described again;
  RC_ASSERT(again.fields.set_json_text(dump_json(d.fields.to_json()), "x").has_value());
  RC_ASSERT(again.options.steps == d.options.steps);
  RC_ASSERT(again.options.rate == d.options.rate);
}

RC_GTEST_PROP(Described, AnyTextIsAValueOrAnError, (const std::string& text)) {
  Described d;
  for (const Field& field : d.fields.all())
    static_cast<void>(d.fields.set_text(field.name, text, "--x").has_value());
  static_cast<void>(d.fields.set_json_text(text, "x").has_value());
}

}  // namespace
}  // namespace headwater
