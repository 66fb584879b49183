#include "adapt/adapt_options.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace headwater {
namespace {

const Json kSizes = {{"model_size", "tiny"},
                     {"model_hparam_overrides", R"({"hidden_size": 64, "vocab_size": 99})"},
                     {"generator_hidden_size", 0.5}};

struct Given {
  AdaptOptions options;
  Fields fields;
  explicit Given(const Json& json) {
    options.describe(fields);
    EXPECT_TRUE(fields.set_json(json, "test").has_value());
  }
  Result<> resolve() { return options.resolve(fields); }
};

PretrainOptions pretraining(const Json& json, int64_t examples) {
  const Given given(json);
  auto stage = pretrain_stage(given.options, kSizes, examples);
  EXPECT_TRUE(stage.has_value()) << stage.error().to_string();
  return (*stage)->options;
}

TEST(AdaptOptions, StepsFollowFromTheCorpus) {
  const PretrainOptions o = pretraining({{"model", "m"}, {"pretrain_batch_size", 10}}, 1000);
  EXPECT_EQ(o.num_train_steps, 300);
  EXPECT_EQ(o.num_warmup_steps, 30);
  EXPECT_EQ(o.init_checkpoint, "m");
  EXPECT_EQ(o.generator_warmup_steps, 0);  // the pair is trained already
  EXPECT_EQ(o.generator_hidden_size, 0.5);
  EXPECT_EQ(pretraining({{"pretrain_batch_size", 10}}, 5).num_train_steps, 100);
  EXPECT_EQ(pretraining({{"steps", 7}}, 5).num_train_steps, 7);
  // Without a warm-up of its own a run without moments would warm up over 1000 steps.
  EXPECT_EQ(pretraining({{"steps", 7}}, 5).num_warmup_steps, 1);
}

TEST(AdaptOptions, WhatIsGivenOutranksTheModelsRecipe) {
  const PretrainOptions o =
      pretraining({{"pretrain_seq_length", 32},
                   {"pretrain_learning_rate", 0.25},
                   {"pretrain_options",
                    R"({"num_warmup_steps": 3, "mask_prob": 0.2, "generator_hidden_size": 1})"}},
                  100);
  EXPECT_EQ(o.max_seq_length, 32);
  EXPECT_EQ(*o.max_predictions_per_seq, 6);
  EXPECT_EQ(o.learning_rate, 0.25);
  EXPECT_EQ(o.num_warmup_steps, 3);
  EXPECT_EQ(o.generator_hidden_size, 1);
}

TEST(AdaptOptions, WrongOptionsAreSaidBeforeAnythingIsTrained) {
  Given none(Json{{"task", "kote"}});
  EXPECT_FALSE(none.resolve().has_value());
  Given no_test({{"task", "kote"}, {"train", "a.tsv"}});
  EXPECT_NE(no_test.resolve().error().to_string().find("--test or --dev"), std::string::npos);
  Given no_dev({{"task", "kote"}, {"train", "a"}, {"test", "b"}, {"early_stopping_patience", 2}});
  EXPECT_NE(no_dev.resolve().error().to_string().find("early stopping"), std::string::npos);
  Given unknown({{"task", "no-such-task"}, {"train", "a"}, {"test", "b"}});
  EXPECT_FALSE(unknown.resolve().has_value());
  const Given bad(Json{{"pretrain_options", R"({"mask_pro": 0.2})"}});
  const auto stage = pretrain_stage(bad.options, kSizes, 1);
  ASSERT_FALSE(stage.has_value());
  EXPECT_NE(stage.error().to_string().find("mask_prob"), std::string::npos);
}

}  // namespace
}  // namespace headwater
