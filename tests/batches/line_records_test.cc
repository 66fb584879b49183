// Lines of JSON and of text as records.
#include "batches/line_records.h"

#include <gtest/gtest.h>

#include "base/threefry.h"
#include "batches/examples.h"

namespace headwater {
namespace {

Example parsed(std::string_view line, const char* specs) {
  const auto record = record_of_json_line(line, *parse_feature_specs(specs));
  EXPECT_TRUE(record.has_value()) << record.error().to_string();
  return record ? *parse_example(*record) : Example();
}

std::string error_of(std::string_view line, const char* specs) {
  const auto record = record_of_json_line(line, *parse_feature_specs(specs));
  EXPECT_FALSE(record.has_value()) << line;
  return record ? "" : record.error().to_string();
}

TEST(LineRecords, FeaturesOfJson) {
  const Example expected = {{"a", std::vector<int64_t>{1, -2, 3, 1}},
                            {"f", std::vector<float>{0.5f, 2}},
                            {"s", std::vector<std::string>{"가"}}};
  EXPECT_EQ(parsed(R"({"a": [[1, -2], [3, true]], "f": [0.5, 2], "s": "가", "x": {}, "n": null})",
                   "a:int64[], f:float[], s:bytes, n:int64[]?"),
            expected);
  EXPECT_EQ(error_of(R"({"a": 1.5})", "a:int64[]"), "feature 'a' holds 1.5, expected int64");
  EXPECT_NE(error_of(R"({"a": ["x"]})", "a:int64[]").find("a list of something else"),
            std::string::npos);
  EXPECT_NE(error_of(R"({"a": 18446744073709551615})", "a:int64[]").find("expected int64"),
            std::string::npos);
  EXPECT_NE(error_of("[1]", "a:int64[]").find("no JSON object"), std::string::npos);
  EXPECT_NE(error_of("{", "a:int64[]").find("JSON"), std::string::npos);
}

TEST(LineRecords, Formats) {
  for (const char* name : {"tfrecord", "jsonl", "txt"})
    EXPECT_EQ(record_format_name(*parse_record_format(name)), name);
  EXPECT_FALSE(parse_record_format("csv").has_value());
}

class LinePipeline : public testing::Test {
 protected:
  LinePipeline() {
    options_.records = "r/*";
    options_.features = *parse_feature_specs("input_ids:int64[], label:int64=7");
    options_.format = RecordFormat::kJsonLines;
    options_.order = BatchOrder::kSequential;
    options_.batch_size = 2;
    options_.epochs = 1;
    options_.remainder = Remainder::kKeep;
  }
  MemoryFileSystem fs_;
  BatchPipelineOptions options_;
};

TEST_F(LinePipeline, BatchesOfJsonLines) {
  fs_.put("r/a",
          "{\"input_ids\": [1, 2]}\r\n\n{\"input_ids\": [3], \"label\": 4}\n{\"input_ids\": []}");
  for (const BatchOrder order : {BatchOrder::kSequential, BatchOrder::kTf}) {
    options_.order = order;
    const auto pipeline = open_batches(fs_, options_);
    EXPECT_EQ(pipeline->stats().examples, 3);
    EXPECT_EQ(pipeline->stats().tokens, 3);
    const auto batches = take_batches(*pipeline);
    ASSERT_EQ(batches.size(), 2u);
    EXPECT_EQ(rows_of(batches[0]), (Lists{{1, 2}, {3, 0}}));
    EXPECT_EQ(batches[0].find("label")->ints, (std::vector<int32_t>{7, 4}));
  }
}

TEST_F(LinePipeline, WrongLinesAreNamed) {
  fs_.put("r/a", "{\"input_ids\": [1]}\n\n{\"input_ids\": \"x\"}\n{\"input_ids\": [2]}\n");
  EXPECT_EQ(open_batches_error(fs_, options_),
            "r/a: line 3: feature 'input_ids' holds \"x\", expected int64");
  options_.damage_policy = DamagePolicy::kSkip;
  const auto pipeline = open_batches(fs_, options_);
  EXPECT_EQ(pipeline->stats().examples, 2);
  EXPECT_EQ(pipeline->stats().damaged, 1);
  options_.damage_policy = DamagePolicy::kSkipFile;
  EXPECT_EQ(open_batches(fs_, options_)->stats().examples, 1);
  options_.damage_policy = DamagePolicy::kStop;
  fs_.put("r/a", "{\"input\": [1]}\n");
  EXPECT_NE(open_batches_error(fs_, options_).find("r/a: line 1: feature 'input_ids' is missing"),
            std::string::npos);
  fs_.put("r/a", "{\"input_ids\": [1, 2, 3, 4, 5]}\n");
  options_.packed_memory_limit = 10;
  EXPECT_NE(open_batches_error(fs_, options_).find("of lines"), std::string::npos);
  options_.packed_memory_limit = 35;
  EXPECT_NE(open_batches_error(fs_, options_).find("lines need more"), std::string::npos);
}

TEST_F(LinePipeline, BatchesOfText) {
  fs_.put("r/a", "ab\nc\n");
  options_.format = RecordFormat::kText;
  EXPECT_NE(open_batches_error(fs_, options_).find("need a tokenizer"), std::string::npos);
  options_.encode_text = [](std::string_view text) -> Result<std::vector<int32_t>> {
    if (text == "!") return fail(Code::kInvalidArgument, "no such sign");
    return std::vector<int32_t>(text.begin(), text.end());
  };
  EXPECT_EQ(rows_of(take_batches(*open_batches(fs_, options_)).at(0)), (Lists{{97, 98}, {99, 0}}));
  fs_.put("r/a", "ab\n!\n");
  EXPECT_EQ(open_batches_error(fs_, options_), "r/a: line 2: no such sign");
}

TEST_F(LinePipeline, NoLineBreaksTheReader) {
  RandomStream random(Key::from_seed(2));
  const std::string seed = R"({"input_ids": [1, 22, 3], "label": 4, "x": "y\u0041"})";
  constexpr std::string_view kSigns = "[]{},:\"\\ 09-.eu";
  for (int round = 0; round < 5000; ++round) {
    std::string line = seed;
    for (uint64_t edits = 1 + random.below(4); edits > 0; --edits) {
      const size_t at = random.below(line.size());
      if (random.below(2) == 0) line.erase(at, 1);
      else line.insert(at, 1, kSigns[random.below(kSigns.size())]);
    }
    const auto record = record_of_json_line(line, options_.features);
    if (!record) continue;
    EXPECT_TRUE(parse_example(*record).has_value()) << line;
  }
}

TEST(LineRecords, TypesOfALineWithoutADescription) {
  const Example example = *example_of_json_line(
      R"({"a": [1, 2], "b": [1, 2.5], "c": "x", "d": null, "e": [], "f": [1, "x"], "g": true})");
  EXPECT_EQ(example, (Example{{"a", std::vector<int64_t>{1, 2}},
                              {"b", std::vector<float>{1, 2.5}},
                              {"c", std::vector<std::string>{"x"}},
                              {"g", std::vector<int64_t>{1}}}));
  EXPECT_EQ(example_of_json_line("[1]").error().code, Code::kInvalidArgument);
}

TEST(LineRecords, FirstLineOfAFile) {
  MemoryFileSystem fs;
  fs.put("a", "\n\r\n{\"x\": 1}\r\nsecond");
  EXPECT_EQ(*first_line(fs, "a"), "{\"x\": 1}");
  fs.put("b", "only");
  EXPECT_EQ(*first_line(fs, "b"), "only");
  fs.put("c", "\n\n");
  EXPECT_EQ(*first_line(fs, "c"), std::nullopt);
  fs.put("d", "");
  EXPECT_EQ(*first_line(fs, "d"), std::nullopt);
}

}  // namespace
}  // namespace headwater
