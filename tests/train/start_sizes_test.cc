#include "train/start_sizes.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "checkpoints/hf_export.h"
#include "train/run_inputs.h"
#include "train/trainer.h"

namespace headwater {
namespace {

class StartSizesTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "start-sizes-" +
              testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  PretrainOptions options_of(const Json& values) {
    PretrainOptions options;
    Fields fields;
    options.describe(fields);
    EXPECT_TRUE(fields.set_json(values, "test").has_value());
    auto resolved = options.resolve(fields);
    EXPECT_TRUE(resolved.has_value()) << resolved.error().to_string();
    return options;
  }
  // A pair of fresh weights in the form that `export` writes.
  ElectraConfigs export_pair(const Json& values) {
    const PretrainOptions options = options_of(values);
    const auto configs = options.model_configs(8);
    EXPECT_TRUE(configs.has_value()) << configs.error().to_string();
    auto trainer = *Trainer::create(trainer_options(options, *configs), *Executor::open("cpu"));
    EXPECT_TRUE(trainer->initialize().has_value());
    const TrainState state = *trainer->state(0);
    const Vocabulary vocabulary = *Vocabulary::from_tokens(
        {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c"}, "vocab.txt");
    HfExport request;
    request.state = &state;
    request.vocabulary = &vocabulary;
    request.discriminator = configs->discriminator;
    request.generator = configs->generator;
    EXPECT_TRUE(export_electra(local_files(), request, folder_).has_value());
    return *configs;
  }

  std::string folder_;
};

// What a model was trained with comes back from its files alone: the same two networks.
TEST_F(StartSizesTest, APairIsTheSamePairAgain) {
  const std::vector<Json> pairs = {
      {{"model_size", "tiny"},
       {"max_seq_length", 16},
       {"model_hparam_overrides", R"({"num_hidden_layers": 2})"}},
      {{"model_size", "tiny"},
       {"max_seq_length", 16},
       {"generator_hidden_size", 0.5},
       {"embedding_size", 32},
       {"model_hparam_overrides",
        R"({"num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 96})"},
       {"generator_layers", 0.5}},
  };
  for (const Json& values : pairs) {
    std::filesystem::remove_all(folder_);
    const ElectraConfigs before = export_pair(values);
    const auto sizes = start_sizes(local_files(), folder_);
    ASSERT_TRUE(sizes.has_value()) << sizes.error().to_string();
    const auto after = options_of(*sizes).model_configs(8);
    ASSERT_TRUE(after.has_value()) << after.error().to_string();
    for (const auto& [a, b] : {std::pair(before.discriminator, after->discriminator),
                               std::pair(before.generator, after->generator)}) {
      EXPECT_EQ(a.hidden_size, b.hidden_size);
      EXPECT_EQ(a.embedding_size, b.embedding_size);
      EXPECT_EQ(a.num_hidden_layers, b.num_hidden_layers);
      EXPECT_EQ(a.num_attention_heads, b.num_attention_heads);
      EXPECT_EQ(a.intermediate_size, b.intermediate_size);
      EXPECT_EQ(a.vocab_size, b.vocab_size);
      EXPECT_EQ(a.max_position_embeddings, b.max_position_embeddings);
    }
    // The discriminator alone: its own sizes, the generator by the recipe.
    const auto alone = start_sizes(local_files(), folder_ + "/discriminator");
    ASSERT_TRUE(alone.has_value()) << alone.error().to_string();
    EXPECT_FALSE(alone->contains("generator_hidden_size"));
    EXPECT_EQ(options_of(*alone).model_configs(8)->discriminator.intermediate_size,
              before.discriminator.intermediate_size);
  }
}

TEST_F(StartSizesTest, NoModelIsAnError) {
  std::filesystem::create_directories(folder_);
  EXPECT_FALSE(start_sizes(local_files(), folder_).has_value());
}

}  // namespace
}  // namespace headwater
