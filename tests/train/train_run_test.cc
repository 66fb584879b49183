// Whole runs of `headwater train`: what they learn, resuming bit for bit, epochs, evaluation, early
// stopping, starts from weights, and what is refused.
#include "train/train_run.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "checkpoints/hf_export.h"
#include "checkpoints/model_weights.h"
#include "train/small_run.h"

namespace headwater {
namespace {

constexpr const char* kGpt2 =
    R"({"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "vocab_size": 40, "n_positions": 24,
        "n_embd": 32, "n_layer": 2, "n_head": 4})";
constexpr const char* kBert =
    R"({"model_type": "bert", "architectures": ["BertForMaskedLM"], "vocab_size": 40, "hidden_size": 32,
        "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64,
        "max_position_embeddings": 24, "hidden_dropout_prob": 0.1})";

class TrainRunTest : public SmallRun {
 protected:
  void SetUp() override {
    SmallRun::SetUp();
    std::ofstream(path("gpt2.json")) << kGpt2;
    std::ofstream(path("bert.json")) << kBert;
  }

  // A run of a tiny GPT-2 on 64 records, 8 a step: 8 steps an epoch.
  Result<int> train(const std::string& output, const Settings& settings = {}) {
    TrainOptions options;
    Fields fields;
    options.describe(fields);
    Settings all = {{"model", path("gpt2.json")},
                    {"records", path("data.tfrecord")},
                    {"output_dir", path(output)},
                    {"batch_size", "8"},
                    {"max_steps", "20"},
                    {"learning_rate", "3e-3"},
                    {"warmup_steps", "4"},
                    {"log_steps", "5"},
                    {"threads", "2"}};
    all.insert(all.end(), settings.begin(), settings.end());
    for (const auto& [name, value] : all) HW_RETURN_IF_ERROR(fields.set_text(name, value, "test"));
    HW_RETURN_IF_ERROR(options.resolve(fields));
    return run_training(options, fields);
  }
  std::string error(const Settings& settings) {
    const auto code = train("refused", settings);
    EXPECT_FALSE(code);
    return code ? "" : code.error().to_string();
  }

  // Metric lines of a split, without what depends on time and machine.
  std::vector<Json> lines(const std::string& output, const std::string& split) {
    std::vector<Json> found;
    std::istringstream stream(file_text(output + "/metrics.jsonl"));
    for (std::string line; std::getline(stream, line);) {
      Json json = Json::parse(line);
      for (const char* key : {"tokens_per_second", "data_wait_share", "peak_memory_mb"})
        json.erase(key);
      if (json.at("split") == split) found.push_back(std::move(json));
    }
    return found;
  }
};

TEST_F(TrainRunTest, RecordsOfAnotherVocabularyAreRefused) {
  const Settings bert = {{"model", path("bert.json")}, {"tokenizer", path("vocab.txt")}};
  const auto say = [&](const std::string& digest) {
    const Json manifest = {{"headwater_records", "bert"},
                           {"vocabulary", {{"sha256", digest}}},
                           {"options", Json::object()}};
    std::ofstream(path("manifest.json")) << manifest.dump();
  };
  say("0");
  EXPECT_NE(error(bert).find("vocab.txt is not the vocabulary that"), std::string::npos);
  say(Vocabulary::load(local_files(), path("vocab.txt"))->digest());
  EXPECT_EQ(
      train("run",
            {{"model", path("bert.json")}, {"tokenizer", path("vocab.txt")}, {"max_steps", "1"}}),
      0);
}

TEST_F(TrainRunTest, LearnsATextInWhichEachTokenDecidesTheNext) {
  ASSERT_EQ(train("run", {{"num_train_epochs", "60"}, {"max_steps", "480"}, {"log_steps", "20"}}),
            0);
  const Json last = lines("run", "train").back();
  // The first token of a row cannot be known, nor whether the row ends: all else is learned.
  EXPECT_LT(last.at("loss").get<double>(), 0.75);
  EXPECT_GT(last.at("accuracy").get<double>(), 0.8);
  EXPECT_NEAR(last.at("perplexity").get<double>(), std::exp(last.at("loss").get<double>()), 1e-9);
}

TEST_F(TrainRunTest, ResumedRunEqualsUnbrokenOne) {
  for (const Settings& settings :
       {Settings{{"num_train_epochs", "3"}},
        Settings{{"remainder", "span"}, {"batch_size", "7"}, {"gradient_accumulation_steps", "2"}},
        Settings{{"order", "tf"}, {"optimizer", "adafactor"}, {"ema_decay", "0.9"}},
        Settings{{"model", path("bert.json")},
                 {"tokenizer", path("vocab.txt")},
                 {"whole_word_masking", "true"},
                 {"eval_fraction", "0.2"},
                 {"eval_steps", "10"},
                 {"optimizer", "lamb"}}}) {
    std::filesystem::remove_all(path("whole"));
    std::filesystem::remove_all(path("parts"));
    ASSERT_EQ(train("whole", settings), 0);
    Settings parts = settings;
    parts.emplace_back("save_steps", "10");  // within the second epoch
    ASSERT_EQ(train("parts", parts), 0);
    std::filesystem::remove_all(path("parts/checkpoint-20"));
    parts.emplace_back("resume", "true");
    ASSERT_EQ(train("parts", parts), 0);
    const TrainState whole = last_state("whole"), resumed = last_state("parts");
    EXPECT_EQ(resumed.step, 20);
    expect_same_tensors(whole.parameters, resumed.parameters);
    expect_same_tensors(whole.slots, resumed.slots);
    for (const char* split : {"train", "epoch", "eval"})
      EXPECT_EQ(lines("whole", split), lines("parts", split));
  }
}

TEST_F(TrainRunTest, ResultDoesNotDependOnThreadsOrPrefetch) {
  ASSERT_EQ(train("one", {{"threads", "1"}, {"prefetch", "1"}, {"max_steps", "6"}}), 0);
  ASSERT_EQ(train("three", {{"threads", "3"}, {"max_steps", "6"}}), 0);
  // The last rate hangs on max_steps, not on threads.
  expect_same_tensors(last_state("one").parameters, last_state("three").parameters);
}

TEST_F(TrainRunTest, EpochsEndWhereTheirRecordsDo) {
  ASSERT_EQ(train("run", {{"num_train_epochs", "2"}, {"max_steps", "1000"}, {"batch_size", "9"}}),
            0);
  EXPECT_EQ(last_state("run").step, 16);  // 64 records in 8 batches of 9, the last one short
  const std::vector<Json> epochs = lines("run", "epoch");
  ASSERT_EQ(epochs.size(), 2u);
  EXPECT_EQ(epochs[0].at("step"), 8);
  EXPECT_EQ(epochs[0].at("epoch"), 1);
  EXPECT_EQ(epochs[1].at("step"), 16);
  EXPECT_LT(epochs[1].at("loss"), epochs[0].at("loss"));
}

TEST_F(TrainRunTest, AccumulationOverAnEpochThatDoesNotDivideTakesWhatIsLeft) {
  ASSERT_EQ(train("run", {{"num_train_epochs", "1"},
                          {"max_steps", "1000"},
                          {"gradient_accumulation_steps", "3"}}),
            0);
  EXPECT_EQ(last_state("run").step, 3);  // 8 batches: 3, 3 and 2
}

TEST_F(TrainRunTest, EarlyStoppingKeepsTheBest) {
  write_records("other.tfrecord", 7);
  // A rate under which nothing improves after the first evaluations.
  ASSERT_EQ(train("run", {{"eval_records", path("other.tfrecord")},
                          {"eval_steps", "2"},
                          {"max_steps", "60"},
                          {"learning_rate", "0.5"},
                          {"early_stopping_patience", "3"}}),
            0);
  const std::vector<Json> evaluations = lines("run", "eval");
  const int64_t last = last_state("run").step;
  EXPECT_LT(last, 60);
  int64_t best = 0;
  double best_loss = 1e9;
  for (const Json& line : evaluations) {
    if (line.at("loss").get<double>() < best_loss) {
      best_loss = line.at("loss");
      best = line.at("step");
    }
  }
  EXPECT_EQ(last, best + 6);
  EXPECT_TRUE(std::filesystem::exists(path("run/best/checkpoint-" + std::to_string(best))));
}

TEST_F(TrainRunTest, GoesOnFromARunAndFromAnExportWithTheSameWeights) {
  ASSERT_EQ(train("run"), 0);
  HfModelExport request;
  const TrainState state = last_state("run");
  request.state = &state;
  request.model = *Model::from_hf_json(*parse_json(kGpt2, "test"), "test");
  ASSERT_TRUE(export_model(local_files(), request, path("hf")));
  const Settings further = {{"max_steps", "5"}};
  Settings from_run = further, from_hf = further;
  from_run.emplace_back("model", path("run"));
  from_hf.emplace_back("model", path("hf"));
  ASSERT_EQ(train("a", from_run), 0);
  ASSERT_EQ(train("b", from_hf), 0);
  expect_same_tensors(last_state("a").parameters, last_state("b").parameters);
  // The step counts from 0 anew, and the first loss is that of the trained weights.
  EXPECT_LT(lines("a", "train").front().at("loss"), lines("run", "train").front().at("loss"));
}

TEST_F(TrainRunTest, AnotherObjectiveGetsAFreshHead) {
  const Settings bert = {
      {"model", path("bert.json")}, {"tokenizer", path("vocab.txt")}, {"max_steps", "2"}};
  ASSERT_EQ(train("mlm", bert), 0);
  // A body without its head cannot be trained for what it has no head for.
  EXPECT_NE(error({{"model", path("mlm")}, {"objective", "clm"}}).find("has no head for"),
            std::string::npos);
  EXPECT_NE(error({{"model", path("mlm")}, {"objective", "classification"}}).find("needs labels"),
            std::string::npos);
}

TEST_F(TrainRunTest, FrozenParametersStay) {
  ASSERT_EQ(train("run", {{"max_steps", "1"}, {"learning_rate", "1e-9"}}), 0);
  ASSERT_EQ(train("more", {{"model", path("run")},
                           {"freeze", "transformer.wte"},
                           {"freeze", "transformer.h.0."}}),
            0);
  const TrainState before = last_state("run"), after = last_state("more");
  int64_t same = 0;
  for (size_t i = 0; i < before.parameters.size(); ++i) {
    const bool equal =
        std::ranges::equal(before.parameters[i].tensor.bytes(), after.parameters[i].tensor.bytes());
    const std::string& name = before.parameters[i].name;
    EXPECT_EQ(equal, name.starts_with("transformer.h.0.") || name.starts_with("transformer.wte"))
        << name;
    same += equal ? 1 : 0;
  }
  EXPECT_EQ(same, 13);
}

TEST_F(TrainRunTest, AveragesAreEvaluatedAndExported) {
  ASSERT_EQ(train("run", {{"ema_decay", "0.5"}, {"eval_fraction", "0.2"}, {"eval_steps", "10"}}),
            0);
  TrainState state = last_state("run");
  ASSERT_TRUE(has_averages(state));
  HfModelExport request;
  request.state = &state;
  request.averaged = true;
  request.model = *Model::from_hf_json(*parse_json(kGpt2, "test"), "test");
  ASSERT_TRUE(export_model(local_files(), request, path("hf")));
  // The exported weights, evaluated as they are, have the loss that the run reported of them.
  ASSERT_EQ(train("again", {{"model", path("hf")},
                            {"eval_fraction", "0.2"},
                            {"eval_steps", "10"},
                            {"max_steps", "1"}}),
            0);
  EXPECT_NEAR(lines("again", "eval").front().at("loss").get<double>(),
              lines("run", "eval").back().at("loss").get<double>(), 1e-6);
}

TEST_F(TrainRunTest, MistakesSayWhatToDo) {
  ASSERT_EQ(train("run", {{"max_steps", "2"}}), 0);
  EXPECT_NE(train("run").error().to_string().find("continue it with --resume"), std::string::npos);
  EXPECT_NE(train("run", {{"resume", "true"}, {"max_steps", "2"}})
                .error()
                .to_string()
                .find("is complete: it has reached step 2"),
            std::string::npos);
  EXPECT_NE(train("run", {{"resume", "true"}, {"batch_size", "4"}})
                .error()
                .to_string()
                .find("batch_size"),
            std::string::npos);
  EXPECT_NE(error({{"resume", "true"}}).find("there is no run to resume"), std::string::npos);
  EXPECT_NE(error({{"model", path("none")}}).find("none"), std::string::npos);
  std::filesystem::create_directories(path("empty"));
  std::ofstream(path("empty/config.json")) << kGpt2;
  EXPECT_NE(error({{"model", path("empty")}}).find("empty/config.json"), std::string::npos);
  std::ofstream(path("empty/bert.json")) << kBert;
  EXPECT_NE(error({{"model", path("empty/bert.json")}}).find("name it with --tokenizer"),
            std::string::npos);
  EXPECT_NE(error({{"max_seq_length", "10"}}).find("--truncate"), std::string::npos);
  EXPECT_NE(error({{"dataset", "txt"}, {"model", path("empty/config.json")}})
                .find("text needs a tokenizer"),
            std::string::npos);
  EXPECT_NE(error({{"early_stopping_patience", "2"}}).find("needs an evaluation"),
            std::string::npos);
  EXPECT_NE(error({{"learning_rate", "1e30"}, {"max_grad_norm", "0"}, {"warmup_steps", "0"}})
                .find("the last good checkpoint is none"),
            std::string::npos);
}

}  // namespace
}  // namespace headwater
