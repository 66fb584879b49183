// Whole runs: resuming bit for bit, starting from weights, refusing what would lose work,
// divergence.
#include "train/pretrain_run.h"

#include <atomic>
#include <cmath>
#include <csignal>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "train/small_run.h"

namespace headwater {
namespace {

using PretrainRunTest = SmallRun;

// Metric lines without what depends on time and machine.
std::vector<Json> comparable_lines(const std::string& text) {
  std::vector<Json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    Json json = Json::parse(line);
    for (const char* key : {"tokens_per_second", "data_wait_share", "peak_memory_mb"})
      json.erase(key);
    lines.push_back(std::move(json));
  }
  return lines;
}

std::vector<double> logged_rates(const std::string& text) {
  std::vector<double> rates;
  for (const Json& line : comparable_lines(text)) {
    if (line.contains("learning_rate")) rates.push_back(line.at("learning_rate").get<double>());
  }
  return rates;
}

TEST_F(PretrainRunTest, ResumedRunEqualsUnbrokenOne) {
  ASSERT_EQ(pretrain("whole"), 0);
  // 64 records less the held-out ones make 7 batches an epoch: 10 is within the second one.
  ASSERT_EQ(pretrain("parts", {{"save_checkpoints_steps", "10"}}), 0);
  std::filesystem::remove_all(path("parts/checkpoint-20"));
  ASSERT_EQ(pretrain("parts", {{"resume", "true"}}), 0);
  const TrainState whole = last_state("whole"), parts = last_state("parts");
  EXPECT_EQ(parts.step, 20);
  expect_same_tensors(whole.parameters, parts.parameters);
  expect_same_tensors(whole.slots, parts.slots);
  EXPECT_EQ(comparable_lines(file_text("whole/metrics.jsonl")),
            comparable_lines(file_text("parts/metrics.jsonl")));
}

TEST_F(PretrainRunTest, ResultDoesNotDependOnThreads) {
  ASSERT_EQ(pretrain("one", {{"threads", "1"}, {"num_train_steps", "6"}}), 0);
  ASSERT_EQ(pretrain("three", {{"threads", "3"}, {"num_train_steps", "6"}}), 0);
  expect_same_tensors(last_state("one").parameters, last_state("three").parameters);
}

TEST_F(PretrainRunTest, SignalSavesAndResumeGoesOn) {
  ASSERT_EQ(pretrain("whole"), 0);
  std::signal(SIGTERM, SIG_IGN);
  std::thread sender;  // a signal during the run, at whatever step it comes
  std::atomic<bool> done = false;
  sender = std::thread([&] {
    while (!done && !std::filesystem::exists(path("stopped/metrics.jsonl")))
      std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (!done) std::raise(SIGTERM);
  });
  const auto code = pretrain("stopped");
  done = true;
  sender.join();
  ASSERT_TRUE(code) << code.error().to_string();
  if (*code == 0) GTEST_SKIP() << "the run ended before the signal came";
  EXPECT_EQ(*code, 128 + SIGTERM);
  ASSERT_EQ(pretrain("stopped", {{"resume", "true"}}), 0);
  expect_same_tensors(last_state("whole").parameters, last_state("stopped").parameters);
}

TEST_F(PretrainRunTest, LossesFallOnRegularText) {
  ASSERT_EQ(pretrain("run", {{"num_train_steps", "150"}, {"eval_steps", "150"}}), 0);
  std::vector<double> losses;
  for (const Json& line : comparable_lines(file_text("run/metrics.jsonl"))) {
    if (line.at("split") == "heldout") losses.push_back(line.at("masked_lm_loss"));
  }
  ASSERT_EQ(losses.size(), 2u);
  EXPECT_NEAR(losses[0], std::log(kVocabulary), 0.2);
  EXPECT_LT(losses[1], losses[0] - 0.3);
}

TEST_F(PretrainRunTest, GeneratorWarmupLeavesTheDiscriminatorAlone) {
  ASSERT_EQ(pretrain("run", {{"generator_warmup_steps", "10"},
                             {"save_checkpoints_steps", "5"},
                             {"keep_checkpoint_max", "0"}}),
            0);
  const auto at = [&](int64_t step) {
    return *load_checkpoint(local_files(), path(fmt::format("run/checkpoint-{}", step)));
  };
  const auto tensor = [](const TrainState& state, std::string_view part) {
    for (const NamedTensor& p : state.parameters) {
      if (p.name.find(part) != std::string::npos) return p.tensor;
    }
    ADD_FAILURE() << part;
    return Tensor();
  };
  const TrainState early = at(5), middle = at(10), late = at(20);
  const char* kDisc = "discriminator_predictions.dense.weight";
  EXPECT_TRUE(std::ranges::equal(tensor(early, kDisc).bytes(), tensor(middle, kDisc).bytes()));
  EXPECT_FALSE(std::ranges::equal(tensor(middle, kDisc).bytes(), tensor(late, kDisc).bytes()));
  const char* kGen = "generator_predictions.dense.weight";
  EXPECT_FALSE(std::ranges::equal(tensor(early, kGen).bytes(), tensor(middle, kGen).bytes()));
  // Resumed inside the warm-up, as if unbroken.
  for (const int step : {10, 15, 20}) {
    std::filesystem::remove_all(path(fmt::format("run/checkpoint-{}", step)));
  }
  ASSERT_EQ(pretrain("run", {{"generator_warmup_steps", "10"}, {"resume", "true"}}), 0);
  expect_same_tensors(last_state("run").parameters, late.parameters);
}

// The encoder of the generator goes over when the discriminator joins, also after a resume at that
// very step, and never over a discriminator that came from a checkpoint.
TEST_F(PretrainRunTest, AFreshDiscriminatorStartsFromTheGenerator) {
  constexpr std::string_view kWeights = "electra.encoder.layer.1.output.dense.weight";
  const Settings joining = {{"generator_warmup_steps", "10"},
                            {"discriminator_from_generator", "true"},
                            {"generator_hidden_size", "1"},
                            {"model_hparam_overrides",
                             R"({"hidden_size": 32, "num_hidden_layers": 2,
                                 "max_position_embeddings": 24})"},
                            {"save_checkpoints_steps", "1"},
                            {"keep_checkpoint_max", "0"}};
  const auto weights = [&](const std::string& run, int64_t step, std::string_view network) {
    const auto state =
        load_checkpoint(local_files(), path(fmt::format("{}/checkpoint-{}", run, step)));
    EXPECT_TRUE(state);
    return *parameters_by_name(*state).at(std::string(network).append(kWeights));
  };
  const auto distance = [](const Tensor& a, const Tensor& b) {
    float largest = 0;
    for (int64_t i = 0; i < a.size(); ++i) {
      const auto at = static_cast<size_t>(i);
      largest = std::max(largest, std::abs(a.as<float>()[at] - b.as<float>()[at]));
    }
    return largest;
  };
  ASSERT_EQ(pretrain("run", joining), 0);
  const Tensor generator = weights("run", 10, "generator.");
  EXPECT_GT(distance(weights("run", 10, "discriminator."), generator), 0.02);
  // One step of at most the rate, and that corrected for moments that are zero.
  EXPECT_LT(distance(weights("run", 11, "discriminator."), generator), 2.1e-3);

  const TrainState late = last_state("run");
  for (int64_t step = 11; step <= 20; ++step)
    std::filesystem::remove_all(path(fmt::format("run/checkpoint-{}", step)));
  Settings resume = joining;
  resume.emplace_back("resume", "true");
  ASSERT_EQ(pretrain("run", resume), 0);
  expect_same_tensors(last_state("run").parameters, late.parameters);

  Settings continued = joining;
  continued.insert(continued.end(), {{"init_checkpoint", path("run")}, {"num_train_steps", "11"}});
  ASSERT_EQ(pretrain("second", continued), 0);
  EXPECT_LT(distance(weights("second", 11, "discriminator."), weights("run", 20, "discriminator.")),
            2.1e-3);
}

TEST_F(PretrainRunTest, MaskedLanguageModelOnly) {
  ASSERT_EQ(pretrain("run", {{"electra_objective", "false"}, {"num_train_steps", "5"}}), 0);
  for (const NamedTensor& p : last_state("run").parameters) {
    EXPECT_EQ(p.name.find("discriminator_predictions"), std::string::npos) << p.name;
  }
}

TEST_F(PretrainRunTest, TiedAndUntiedVariantsTrain) {
  for (const char* option :
       {"untied_generator", "untied_generator_embeddings", "disallow_correct"}) {
    const std::string value = std::string_view(option) == "untied_generator" ? "false" : "true";
    EXPECT_EQ(pretrain(option, {{option, value}, {"num_train_steps", "3"}}), 0) << option;
  }
}

TEST_F(PretrainRunTest, InitCheckpointStartsANewRun) {
  ASSERT_EQ(pretrain("first", {{"num_train_steps", "10"}}), 0);
  ASSERT_EQ(pretrain("second", {{"init_checkpoint", path("first")},
                                {"num_train_steps", "1"},
                                {"num_warmup_steps", "1"}}),
            0);
  // The first step of a warm-up has rate 0: the weights are those of the first run.
  const TrainState first = last_state("first"), second = last_state("second");
  expect_same_tensors(first.parameters, second.parameters);
  EXPECT_EQ(second.step, 1);
  ASSERT_EQ(
      pretrain("third",
               {{"init_checkpoint", path("first")}, {"start_step", "1000"}, {"extra_steps", "2"}}),
      0);
  EXPECT_EQ(last_state("third").step, 1002);
}

// 20 steps in one go, and 10 in a run of their own that goes on exactly where the first 10 ended:
// the batches differ (another run begins its data anew), the moments are those of the first run.
TEST_F(PretrainRunTest, ContinuesInTheScheduleWithTheMoments) {
  ASSERT_EQ(pretrain("first", {{"num_train_steps", "10"}}), 0);
  ASSERT_EQ(pretrain("second", {{"init_checkpoint", path("first")},
                                {"continue_schedule", "exact"},
                                {"num_train_steps", "11"},
                                {"learning_rate", "1e-12"}}),
            0);
  const TrainState first = last_state("first"), second = last_state("second");
  EXPECT_EQ(second.step, 11);
  const Json meta = *parse_json(second.meta, "meta");
  EXPECT_FALSE(meta.at("slots_missing").get<bool>());
  // v = 0.999 v + 0.001 g^2 is at least 0.999 of what it was: it was not started anew.
  for (size_t i = 0; i < first.slots.size(); ++i) {
    if (!first.slots[i].name.ends_with("#adam_v")) continue;
    for (int64_t k = 0; k < first.slots[i].tensor.size(); ++k) {
      const auto at = static_cast<size_t>(k);
      ASSERT_GE(second.slots[i].tensor.as<float>()[at],
                0.998f * first.slots[i].tensor.as<float>()[at])
          << first.slots[i].name;
    }
  }
}

TEST_F(PretrainRunTest, WeightsWithoutMomentsAreWarmedUpAgain) {
  ASSERT_EQ(pretrain("first", {{"num_train_steps", "10"}}), 0);
  TrainState weights = last_state("first");
  weights.slots.clear();
  ASSERT_TRUE(save_checkpoint(local_files(), path("weights"), weights, 1));
  const Settings go_on = {{"init_checkpoint", path("weights")},
                          {"start_learning_rate", "1e-3"},
                          {"extra_steps", "6"},
                          {"rewarm_steps", "4"},
                          {"log_steps", "1"}};
  ASSERT_EQ(pretrain("second", go_on), 0);
  EXPECT_EQ(last_state("second").step, 16);
  // Rates of steps 10 to 15: X (1 - t / 6) min(1, t / 4).
  const std::vector<double> rates = logged_rates(file_text("second/metrics.jsonl"));
  ASSERT_EQ(rates.size(), 6u);
  for (size_t t = 0; t < 6; ++t) {
    const auto x = static_cast<double>(t);
    EXPECT_NEAR(rates[t], 1e-3 * (1 - x / 6) * std::min(1.0, x / 4), 1e-12) << t;
  }
}

void expect_error(const Result<int>& result, Code code, std::string_view part) {
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, code) << result.error().to_string();
  EXPECT_NE(result.error().to_string().find(part), std::string::npos) << result.error().to_string();
}

TEST_F(PretrainRunTest, RefusesWhatWouldLoseWork) {
  expect_error(pretrain("none", {{"resume", "true"}}), Code::kNotFound, "no run to resume");
  ASSERT_EQ(pretrain("run", {{"num_train_steps", "4"}}), 0);
  expect_error(pretrain("run"), Code::kAlreadyExists, "has reached step 4");
  expect_error(pretrain("run", {{"num_train_steps", "4"}, {"resume", "true"}}),
               Code::kFailedPrecondition, "complete");
  expect_error(pretrain("run", {{"resume", "true"}, {"init_checkpoint", path("run")}}),
               Code::kInvalidArgument, "--init-checkpoint");
  expect_error(pretrain("late", {{"init_checkpoint", path("run")}, {"start_step", "20"}}),
               Code::kInvalidArgument, "nothing is left to train");
}

TEST_F(PretrainRunTest, ResumeNeedsTheSameDataModelAndVocabulary) {
  ASSERT_EQ(pretrain("run", {{"num_train_steps", "4"}}), 0);
  expect_error(pretrain("run", {{"resume", "true"}, {"embedding_size", "32"}}),
               Code::kFailedPrecondition, "word_embeddings");
  write_records("data.tfrecord", 1);
  expect_error(pretrain("run", {{"resume", "true"}}), Code::kFailedPrecondition, "data.tfrecord");
  std::ofstream(path("vocab.txt"), std::ios::app) << "extra\n";
  expect_error(pretrain("run", {{"resume", "true"}}), Code::kFailedPrecondition, "vocab.txt");
}

TEST_F(PretrainRunTest, DivergenceStopsAndKeepsTheLastGoodCheckpoint) {
  const auto result = pretrain("run", {{"learning_rate", "1e30"},
                                       {"max_grad_norm", "1e30"},
                                       {"num_warmup_steps", "0"},
                                       {"save_checkpoints_steps", "1"},
                                       {"eval_steps", "0"}});
  expect_error(result, Code::kOutOfRange, "data.tfrecord: record");
  EXPECT_NE(result.error().to_string().find("step "), std::string::npos);
  for (const NamedTensor& p : last_state("run").parameters) {
    for (const float x : p.tensor.as<float>()) ASSERT_TRUE(std::isfinite(x)) << p.name;
  }
}

TEST_F(PretrainRunTest, LoggedRatesAreThoseOfTheSchedule) {
  ASSERT_EQ(pretrain("run", {{"log_steps", "1"}}), 0);
  for (const Json& line : comparable_lines(file_text("run/metrics.jsonl"))) {
    if (line.at("split") != "train") continue;
    const double step = line.at("step").get<double>() - 1;
    const double expected = 2e-3 * (1 - step / 20) * std::min(1.0, step / 4);
    EXPECT_NEAR(line.at("learning_rate").get<double>(), expected, 1e-12);
  }
}

}  // namespace
}  // namespace headwater
