// JSON in and out: positions of mistakes, bounds, Korean text, mutated input.
#include "base/json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/threefry.h"

namespace headwater {
namespace {

std::string error_of(std::string_view text) {
  const auto parsed = parse_json(text, "run.json");
  return parsed ? "no error" : parsed.error().to_string();
}

TEST(Json, KeepsOrderAndKorean) {
  const auto parsed = parse_json(R"({"z": 1, "가": "나\u0000", "a": [1.5, -2, true, null]})", "x");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(dump_json(*parsed), R"({"z":1,"가":"나\u0000","a":[1.5,-2,true,null]})");
  EXPECT_EQ(dump_json(*parse_json("{\"a\":[]}", "x"), 2), "{\n  \"a\": []\n}");
}

TEST(Json, MistakesHavePositions) {
  EXPECT_EQ(error_of("{\"a\": 1,\n \"b\" 2}"), "run.json: not valid JSON at line 2, column 6");
  EXPECT_EQ(error_of(""), "run.json: not valid JSON at line 1, column 1");
  EXPECT_EQ(error_of("{\"a\":1} x"), "run.json: not valid JSON at line 1, column 9");
  EXPECT_NE(error_of("[1e999]"), "no error");
  EXPECT_NE(error_of("[\"\xff\xfe\"]"), "no error");
  EXPECT_NE(error_of("{'a': 1}"), "no error");
}

TEST(Json, NestingIsBounded) {
  EXPECT_EQ(error_of(std::string(100, '[') + std::string(100, ']')), "no error");
  EXPECT_EQ(error_of(std::string(101, '[') + std::string(101, ']')),
            "run.json: JSON is nested deeper than 100 levels");
  EXPECT_EQ(error_of(std::string(1000000, '[')), "run.json: JSON is nested deeper than 100 levels");
  // Brackets inside strings are not nesting.
  EXPECT_EQ(error_of("\"" + std::string(500, '[') + "\\\"" + std::string(500, '{') + "\""),
            "no error");
}

TEST(Json, InvalidTextIsReplacedOnTheWayOut) {
  Json value = Json::object();
  value["a"] = "x\xff";
  EXPECT_EQ(dump_json(value), "{\"a\":\"x\xEF\xBF\xBD\"}");
}

TEST(Json, MutatedInputNeverDoesMoreThanFail) {
  const std::string seed = R"({"learning_rate": 5e-4, "list": ["a", "\uD834\uDD1E"], "n": -12.5e3,
                              "deep": {"b": [[[{"c": null}]]]}, "t": true})";
  RandomStream random(Key::from_seed(2));
  for (int round = 0; round < 3000; ++round) {
    std::string text = seed;
    for (uint64_t edits = 1 + random.below(4); edits > 0 && !text.empty(); --edits) {
      const auto at = static_cast<size_t>(random.below(text.size()));
      if (random.below(3) == 0) text.erase(at, 1 + random.below(8));
      else text[at] = static_cast<char>(random.below(256));
    }
    const auto parsed = parse_json(text, "x");
    if (!parsed) continue;
    const auto again = parse_json(dump_json(*parsed), "x");
    ASSERT_TRUE(again) << text;
    EXPECT_EQ(*again, *parsed);
  }
}

}  // namespace
}  // namespace headwater
