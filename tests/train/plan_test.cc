#include "train/plan.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "executors/plugins.h"
#include "io/memory_files.h"

namespace headwater {
namespace {

PretrainOptions tiny() {
  PretrainOptions options;
  Fields fields;
  options.describe(fields);
  options.model_size = "tiny";
  options.vocab_size = 100;
  ok_or_throw(options.resolve(fields));
  options.max_seq_length = 16;
  options.max_predictions_per_seq = 2;
  return options;
}

PlannedStep tiny_step() { return value_or_throw(plan_electra(local_files(), tiny())); }

// A device whose memory a step fills by 10 bytes and 3 for each row.
struct FakeDevice {
  int64_t memory = 0;
  int compilations = 0;

  PlanTarget target() {
    PlanTarget target{.name = "v3-8", .num_devices = 8, .memory_bytes = memory, .compiler = "fake"};
    target.compile = [this](const std::string& text) -> Result<PlanTrial> {
      ++compilations;
      const auto at = text.find("x16xi32>");
      const auto begin = text.rfind('<', at) + 1;
      const int64_t rows = std::stoll(text.substr(begin, at - begin));
      PlanTrial trial{.fits = true, .peak_bytes = 10 + 3 * rows, .argument_bytes = 10};
      if (trial.peak_bytes > memory && rows % 2 == 0)
        return fail(Code::kResourceExhausted, "too much");
      trial.seconds = 0.5;
      return trial;
    };
    return target;
  }
};

class PlannerTest : public testing::Test {
 protected:
  Planner::Bounds search(int64_t first_rows, const std::string& cache = "cache") {
    Planner planner(fs_, tiny_step(), device_.target(), true, cache);
    return value_or_throw(planner.search(value_or_throw(planner.compile(first_rows))));
  }
  FakeDevice device_;
  MemoryFileSystem fs_;
};

TEST_F(PlannerTest, FindsTheLargestBatchFromBelowAndAbove) {
  for (const int64_t most : {1, 7, 200}) {
    for (const int64_t first : {1, 50, 1000}) {
      SCOPED_TRACE(fmt::format("{} fit, beginning with {}", most, first));
      device_ = {.memory = 10 + 3 * most};
      const Planner::Bounds bounds = search(first, "");
      EXPECT_LE(device_.compilations, Planner::kMostTrials);
      EXPECT_LE(bounds.fits ? bounds.fits->rows : 0, most);
      EXPECT_GT(bounds.too_many.value_or(most + 1), most);
      if (first > 2 * most) continue;  // halving takes its trials
      ASSERT_TRUE(bounds.fits);
      EXPECT_GE(bounds.fits->rows + std::max<int64_t>(1, most / 8), most);
    }
  }
}

TEST_F(PlannerTest, NothingFits) {
  device_.memory = 5;
  const Planner::Bounds bounds = search(4);
  EXPECT_FALSE(bounds.fits);
  EXPECT_EQ(bounds.too_many, 1);
}

TEST_F(PlannerTest, WhatWasCompiledIsKeptAndDamagedFiguresAreNot) {
  device_.memory = 100;
  search(8);
  const int compilations = device_.compilations;
  EXPECT_TRUE(search(8).fits->cached);
  EXPECT_EQ(device_.compilations, compilations);
  const auto files = fs_.files();
  for (const auto& [path, content] : files) fs_.put(path, content.substr(0, content.size() / 2));
  search(8);
  EXPECT_EQ(device_.compilations, 2 * compilations);
}

TEST_F(PlannerTest, FiguresOfAnotherBatchDoNotCount) {
  device_.memory = 100;
  search(8);
  for (const auto& [path, content] : fs_.files()) {
    Json kept = *parse_json(content, path);
    for (const Json& rows : {Json(0), Json(-8), Json(kept["rows"].get<int64_t>() + 1)}) {
      kept["rows"] = rows;
      fs_.put(path, dump_json(kept));
      EXPECT_EQ(search(8).fits->rows, 30);
    }
  }
}

TEST_F(PlannerTest, ABatchThatNoProgramHoldsIsAnError) {
  device_.memory = 100;
  Planner planner(fs_, tiny_step(), device_.target(), true, "");
  for (const int64_t rows : {int64_t{1} << 31, int64_t{1} << 40, int64_t{1} << 62})
    EXPECT_FALSE(planner.compile(rows)) << rows;
  EXPECT_EQ(device_.compilations, 0);
}

TEST_F(PlannerTest, OtherErrorsEndIt) {
  PlanTarget target = device_.target();
  target.compile = [](const std::string&) -> Result<PlanTrial> {
    return fail(Code::kInternal, "the compiler is ill");
  };
  Planner planner(fs_, tiny_step(), target, true, "");
  const auto trial = planner.compile(1);
  ASSERT_FALSE(trial);
  EXPECT_NE(trial.error().to_string().find("ill"), std::string::npos);
}

TEST(PlanTrial, SurvivesJson) {
  const PlanTrial trial{.rows = 3,
                        .fits = true,
                        .peak_bytes = 5,
                        .argument_bytes = 2,
                        .compile_seconds = 1.5,
                        .seconds = 0.25};
  const auto back = PlanTrial::from_json(trial.to_json());
  ASSERT_TRUE(back);
  EXPECT_EQ(back->to_json(), trial.to_json());
  EXPECT_FALSE(PlanTrial::from_json(Json::object()));
  EXPECT_FALSE(PlanTrial::from_json(Json("text")));
}

PretrainOptions preset(const std::string& name) {
  PretrainOptions options;
  Fields fields;
  options.describe(fields);
  options.preset = name;
  ok_or_throw(options.resolve(fields));
  return options;
}

// 1.24 steps a second of 256 x 512 tokens are about 101 TFLOP/s by the model's own arithmetic.
TEST(PlannedStep, CountsTheArithmeticOfKoElectra) {
  const PlannedStep step = value_or_throw(plan_electra(local_files(), preset("koelectra-base-v3")));
  const double per_token = value_or_throw(step.flops(4)) / (4 * 512);
  EXPECT_GT(per_token, 550e6);
  EXPECT_LT(per_token, 900e6);
  // Parameters and two moments of each, f32.
  EXPECT_NEAR(static_cast<double>(value_or_throw(step.state_bytes())),
              12.0 * static_cast<double>(step.parameters), 1e4);
}

TEST(PlannedStep, ThePublishedRunHasItsOwnRate) {
  PlanTarget v3;
  v3.name = "v3-8";
  v3.num_devices = 8;
  const PlannedStep base = value_or_throw(plan_electra(local_files(), preset("koelectra-base-v3")));
  const auto rate = value_or_throw(rate_by_measurement(local_files(), base, v3));
  ASSERT_TRUE(rate);
  EXPECT_NEAR(rate->tokens_per_second, 162500, 1);
  v3.num_devices = 32;
  v3.name = "v3-32";
  EXPECT_NEAR(value_or_throw(rate_by_measurement(local_files(), base, v3))->tokens_per_second,
              4 * 162500, 4);
  v3.name = "v5e-8";
  EXPECT_FALSE(value_or_throw(rate_by_measurement(local_files(), base, v3)));
}

TEST(PlannedStep, OfAModelByItsConfig) {
  const std::string folder = std::string(HW_TESTS_DIR) + "/golden/models/gpt2_lm";
  PretrainOptions options = tiny();
  const PlannedStep step = value_or_throw(plan_model(local_files(), folder, "", options));
  EXPECT_NE(step.name.find("GPT2LMHeadModel, objective clm"), std::string::npos) << step.name;
  EXPECT_GT(value_or_throw(step.flops(2)), 0);
  options.max_seq_length = 1 << 20;
  EXPECT_FALSE(plan_model(local_files(), folder, "", options));
  EXPECT_FALSE(plan_model(local_files(), "no/such", "", tiny()));
}

TEST(PlanTarget, UnknownOnesAreErrors) { EXPECT_FALSE(find_plan_target(local_files(), "v9-8")); }

TEST(PlanTarget, ATinyStepFitsEveryTpu) {
  HW_SKIP_WITHOUT_WHEEL("libtpu");
  MemoryFileSystem fs;
  for (const char* name : {"v2-8", "v3-8", "v4-8", "v5e-8", "v6e-8"}) {
    const PlanTarget target = value_or_throw(find_plan_target(local_files(), name));
    const PlanTrial trial = value_or_throw(Planner(fs, tiny_step(), target, true, "").compile(2));
    EXPECT_TRUE(trial.fits) << name;
    EXPECT_GT(trial.peak_bytes, 12 * tiny_step().parameters) << name;
    EXPECT_LT(trial.peak_bytes, int64_t{1} << 30) << name;
  }
}

}  // namespace
}  // namespace headwater
