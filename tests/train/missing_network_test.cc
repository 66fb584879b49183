// Runs that start from half a pair, or from another kind of model.
#include <nlohmann/json.hpp>

#include "checkpoints/safetensors.h"
#include "train/small_run.h"

namespace headwater {
namespace {

class MissingNetworkTest : public SmallRun {
 protected:
  void SetUp() override {
    SmallRun::SetUp();
    ASSERT_EQ(pretrain("first", {{"num_train_steps", "10"}}), 0);
  }

  // The parameters of `first` whose names begin so, as a checkpoint without moments.
  void save_part(const std::string& output, std::string_view prefix) {
    TrainState part = last_state("first");
    part.slots.clear();
    part.aliases.clear();
    std::erase_if(part.parameters,
                  [&](const NamedTensor& t) { return !t.name.starts_with(prefix); });
    ASSERT_FALSE(part.parameters.empty());
    ASSERT_TRUE(save_checkpoint(local_files(), path(output), part, 1));
  }

  Settings from_half(const Settings& more = {}) const {
    Settings all = {{"init_checkpoint", path("half")},
                    {"generator_steps", "12"},
                    {"save_checkpoints_steps", "5"},
                    {"eval_steps", "6"},
                    {"num_train_steps", "8"}};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  static const Tensor& parameter(const TrainState& state, std::string_view name) {
    return *parameters_by_name(state).at(name);
  }
  static bool same(const TrainState& a, const TrainState& b, std::string_view name) {
    return std::ranges::equal(parameter(a, name).bytes(), parameter(b, name).bytes());
  }
};

constexpr const char* kTable = "discriminator.electra.embeddings.word_embeddings.weight";
constexpr const char* kDiscriminator = "discriminator.electra.encoder.layer.0.output.dense.weight";
constexpr const char* kGenerator = "generator.electra.encoder.layer.0.output.dense.weight";

// The generator learns first; the tables and the discriminator stay what they were.
TEST_F(MissingNetworkTest, AGeneratorIsTrainedFirst) {
  save_part("half", "discriminator.");
  ASSERT_EQ(pretrain("second", from_half()), 0);
  const TrainState first = last_state("first"), trained = last_state("second/generator");
  EXPECT_EQ(trained.step, 12);
  EXPECT_TRUE(same(first, trained, kTable));
  EXPECT_TRUE(same(first, trained, kDiscriminator));
  EXPECT_FALSE(same(first, trained, kGenerator));
  const TrainState second = last_state("second");
  EXPECT_EQ(second.step, 8);
  EXPECT_FALSE(same(trained, second, kTable));
  EXPECT_FALSE(same(trained, second, kDiscriminator));
}

// Stopped in the middle of the generator's training, and between it and the run.
TEST_F(MissingNetworkTest, ResumesInTheGeneratorsTraining) {
  save_part("half", "discriminator.");
  ASSERT_EQ(pretrain("whole", from_half()), 0);
  for (const bool within : {true, false}) {
    const std::string run = within ? "within" : "between";
    ASSERT_EQ(pretrain(run, from_half()), 0);
    const auto places = list_checkpoints(local_files(), path(run));
    ASSERT_TRUE(places);
    for (const CheckpointPlace& place : *places) std::filesystem::remove_all(place.path);
    if (within) std::filesystem::remove_all(path(run + "/generator/checkpoint-12"));
    Settings resume = from_half({{"resume", "true"}});
    resume.front() = {"init_checkpoint", ""};
    ASSERT_EQ(pretrain(run, resume), 0);
    const TrainState whole = last_state("whole"), parts = last_state(run);
    EXPECT_EQ(parts.step, 8);
    expect_same_tensors(whole.parameters, parts.parameters);
    expect_same_tensors(whole.slots, parts.slots);
  }
}

TEST_F(MissingNetworkTest, ARandomOneOrThatOfAnotherCheckpoint) {
  save_part("half", "discriminator.");
  ASSERT_EQ(pretrain("random", from_half({{"missing_generator", "random"}})), 0);
  ASSERT_EQ(pretrain("given", from_half({{"missing_generator", path("first")},
                                         {"num_train_steps", "1"},
                                         {"num_warmup_steps", "1"}})),
            0);
  EXPECT_FALSE(std::filesystem::exists(path("random/generator")));
  EXPECT_FALSE(std::filesystem::exists(path("given/generator")));
  // The one step of the second run had rate 0: its generator is that of `first`.
  EXPECT_TRUE(same(last_state("first"), last_state("given"), kGenerator));
}

TEST_F(MissingNetworkTest, ADiscriminatorStartsFromAGenerator) {
  TrainState part = last_state("first");
  part.slots.clear();
  part.aliases.clear();
  std::erase_if(part.parameters, [](const NamedTensor& t) {
    return t.name.starts_with("discriminator.") && t.name.find("embeddings.") == std::string::npos;
  });
  ASSERT_TRUE(save_checkpoint(local_files(), path("half"), part, 1));
  ASSERT_EQ(pretrain("second", from_half({{"num_train_steps", "1"}, {"num_warmup_steps", "1"}})),
            0);
  const TrainState first = last_state("first"), second = last_state("second");
  EXPECT_TRUE(same(first, second, kGenerator));
  EXPECT_TRUE(same(first, second, kTable));
  EXPECT_FALSE(same(first, second, kDiscriminator));  // of another width: fresh
  EXPECT_FALSE(std::filesystem::exists(path("second/generator")));
}

TEST_F(MissingNetworkTest, TheEncoderOfABert) {
  const std::string bert = std::string(HW_TESTS_DIR) + "/golden/convert/bert_pretraining";
  ASSERT_EQ(pretrain("second", {{"init_checkpoint", bert},
                                {"missing_generator", "random"},
                                {"vocab_size", "96"},
                                {"embedding_size", "32"},
                                {"num_train_steps", "1"},
                                {"num_warmup_steps", "1"}}),
            0);
  const auto source = read_safetensors_map(local_files(), bert + "/model.safetensors");
  ASSERT_TRUE(source);
  const TrainState second = last_state("second");
  EXPECT_TRUE(
      std::ranges::equal(parameter(second, kDiscriminator).bytes(),
                         source->find("bert.encoder.layer.0.output.dense.weight")->second.bytes()));
  EXPECT_TRUE(
      std::ranges::equal(parameter(second, kTable).bytes(),
                         source->find("bert.embeddings.word_embeddings.weight")->second.bytes()));
}

// A hole in a network that is there is no missing network.
TEST_F(MissingNetworkTest, AHoleIsAnError) {
  TrainState part = last_state("first");
  std::erase_if(part.parameters, [](const NamedTensor& t) { return t.name == kDiscriminator; });
  part.slots.clear();
  ASSERT_TRUE(save_checkpoint(local_files(), path("half"), part, 1));
  const auto result = pretrain("second", from_half());
  ASSERT_FALSE(result);
  const std::string text = result.error().to_string();
  EXPECT_NE(text.find(std::string("missing from the checkpoint: ") + kDiscriminator),
            std::string::npos)
      << text;
}

TEST_F(MissingNetworkTest, OtherSizesAreNamed) {
  save_part("half", "discriminator.");
  const auto result = pretrain("second", from_half({{"embedding_size", "8"}}));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kFailedPrecondition);
  const std::string text = result.error().to_string();
  EXPECT_NE(text.find("[40, 16] in the checkpoint, [40, 8] in the model"), std::string::npos)
      << text;
}

// The weights fit whatever the number of heads: what the source says of itself is compared.
TEST_F(MissingNetworkTest, OtherHeadsAreAnError) {
  const auto expect_error = [](const Result<int>& result, std::string_view heads) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Code::kFailedPrecondition);
    const std::string text = result.error().to_string();
    EXPECT_NE(text.find(fmt::format("its discriminator has num_attention_heads {}", heads)),
              std::string::npos)
        << text;
  };
  const Settings two_heads = {
      {"num_train_steps", "1"},
      {"num_warmup_steps", "1"},
      {"model_hparam_overrides",
       R"({"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2,
           "intermediate_size": 64, "max_position_embeddings": 24})"}};
  save_part("half", "");
  expect_error(pretrain("second", from_half(two_heads)), "4, the run 2");

  Settings bert = two_heads;
  bert.insert(bert.end(),
              {{"init_checkpoint", std::string(HW_TESTS_DIR) + "/golden/convert/bert_pretraining"},
               {"missing_generator", "random"},
               {"vocab_size", "96"},
               {"embedding_size", "32"}});
  expect_error(pretrain("third", bert), "4, the run 2");
}

}  // namespace
}  // namespace headwater
