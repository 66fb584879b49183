// Fine-tuning from files to a Hugging Face directory: every kind of task, resuming, accumulation,
// what is refused, and what transformers makes of the result.
#include "small_task.h"

#include "checkpoints/python_peer.h"
#include "checkpoints/safetensors.h"

namespace headwater {
namespace {

std::string parity(const std::vector<int>& words) {
  return std::string(words.front() % 2 == 0 ? "even" : "odd");
}

std::string classes(const std::vector<int>& words) {
  std::string labels;
  for (int k = 0; k < 3; ++k) {
    if (std::ranges::any_of(words, [&](int w) { return w % 12 == k; }))
      labels += (labels.empty() ? "" : ",") + std::to_string(k);
  }
  return labels;
}

class FinetuneRunTest : public SmallTask {
 protected:
  template <class Label>
  void write_splits(Label label, int count = 64) const {
    write("train.tsv", rows(1, count, label));
    write("dev.tsv", rows(2, 24, label));
    write("test.tsv", rows(3, 24, label));
  }

  // What `transformers` computes from OUTPUT/model equals predictions.jsonl.
  void expect_transformers_agree(const std::string& output, const std::string& kind) const {
    if (!python_has("torch, transformers, safetensors"))
      GTEST_SKIP() << "needs Python with torch and transformers (HW_PYTHON)";
    const auto [status, text] =
        run_command(python() + " " + quoted(HW_TESTS_DIR "/compat/finetune_check.py") + " " +
                    quoted(path(output)) + " " + quoted(path("test.tsv")) + " " + kind);
    EXPECT_EQ(status, 0) << text;
  }
};

TEST_F(FinetuneRunTest, OneLabelLearnsAndIsExported) {
  write_splits(parity, 256);
  FinetuneOptions run = options("single-label", "run");
  run.steps.num_train_epochs = 12;
  run.steps.learning_rate = 1e-2;
  expect_runs(run);
  const Json results = json_of("run/results.json");
  EXPECT_EQ(results["labels"], (Json{"even", "odd"}));
  EXPECT_GT(results["splits"]["test"]["accuracy"].get<double>(), 0.8);
  EXPECT_EQ(results["per_label"]["test"]["even"]["support"].get<int>() +
                results["per_label"]["test"]["odd"]["support"].get<int>(),
            24);
  const Json config = json_of("run/model/config.json");
  EXPECT_EQ(config["architectures"], Json{"ElectraForSequenceClassification"});
  EXPECT_EQ(config["id2label"]["1"], "odd");
  EXPECT_EQ(config["problem_type"], "single_label_classification");
  EXPECT_FALSE(std::filesystem::exists(path("run/best")));
  // The same metrics from the exported model, and the same predictions.
  ApplyOptions apply;
  apply.model = path("run");
  apply.file = path("test.tsv");
  apply.threads = 1;
  const auto evaluation = evaluate_task(apply);
  ASSERT_TRUE(evaluation) << evaluation.error().to_string();
  for (const auto& [name, value] : evaluation->judgement.values) {
    const Json& expected = results["splits"]["test"].at(name);
    if (!expected.is_number()) continue;
    EXPECT_NEAR(value, expected.get<double>(), 1e-6) << name;
  }
  write("new.jsonl", "{\"text\": \"w6 w7\"}\n{\"text\": \"w7\"}\n");
  apply.file = path("new.jsonl");
  std::vector<Json> lines;
  const auto done = predict_task(apply, [&](const std::string& line) -> Result<> {
    lines.push_back(*parse_json(line, "line"));
    return {};
  });
  ASSERT_TRUE(done) << done.error().to_string();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0]["probabilities"].size(), 2U);
  expect_transformers_agree("run", "single");
}

TEST_F(FinetuneRunTest, SeveralLabelsWithTunedThresholds) {
  write_splits(classes, 128);
  FinetuneOptions run = options("multi-label", "run");
  run.task.threshold_rule = "per-label";
  run.class_weights = "balanced";
  expect_runs(run);
  const Json results = json_of("run/results.json");
  EXPECT_EQ(results["thresholds"]["values"].size(), 3U);
  EXPECT_EQ(results["confusion"]["test"].size(), 3U);
  EXPECT_EQ(json_of("run/model/config.json")["headwater_task"]["thresholds"].size(), 3U);
  run.dev.clear();
  run.output_dir = path("other");
  expect_error(run, "never on what is reported");
  expect_transformers_agree("run", "multi");
}

TEST_F(FinetuneRunTest, PairsAndNumbers) {
  write_splits([](const std::vector<int>& words) {
    return fmt::format("{}", static_cast<double>(words.front()) / kVocabulary);
  });
  FinetuneOptions run = options("regression", "run");
  expect_runs(run);
  EXPECT_TRUE(json_of("run/results.json")["splits"]["test"].contains("pearson"));
  expect_transformers_agree("run", "regression");
}

TEST_F(FinetuneRunTest, ResumedRunIsTheUnbrokenOne) {
  write_splits(parity);
  FinetuneOptions whole = options("single-label", "constant");
  FinetuneOptions part = options("single-label", "part");
  part.steps.max_steps = 5;  // in the first epoch of 8 steps
  part.keep_checkpoints = true;
  part.steps.lr_scheduler_type = whole.steps.lr_scheduler_type = "constant";
  part.dev.clear();
  whole.dev.clear();
  expect_runs(whole);
  expect_runs(part);
  std::filesystem::remove(path("part/results.json"));
  part.steps.max_steps.reset();
  part.resume = true;
  expect_runs(part);
  EXPECT_EQ(text_of("part/model/model.safetensors"), text_of("constant/model/model.safetensors"));
  EXPECT_EQ(text_of("part/predictions.jsonl"), text_of("constant/predictions.jsonl"));
  expect_error(part, "holds a finished run");
}

// Without dropout a step of two batches is that of the undivided one, class weights included.
TEST_F(FinetuneRunTest, AccumulationIsWeightedByExamples) {
  write_splits(parity, 12);  // batches of 8 and of 4
  write("config.json", [] {
    std::string text = config("ElectraForPreTraining", "electra");
    return text.insert(1, R"("hidden_dropout_prob": 0, "attention_probs_dropout_prob": 0,)");
  }());
  FinetuneOptions one = options("single-label", "one"), two = options("single-label", "two");
  for (FinetuneOptions* run : {&one, &two}) {
    run->class_weights = "1,3";
    run->steps.num_train_epochs = 1;
    run->dev.clear();
    run->pad_to_multiple_of = 16;
    run->steps.optimizer = "sgd";  // Adam's first step would make a size of rounding
    run->steps.learning_rate = 0.1;
  }
  one.batch_size = 12;
  two.gradient_accumulation_steps = 2;
  expect_runs(one);
  expect_runs(two);
  const auto a = read_safetensors_map(local_files(), path("one/model/model.safetensors"));
  const auto b = read_safetensors_map(local_files(), path("two/model/model.safetensors"));
  ASSERT_TRUE(a && b);
  for (const auto& [name, tensor] : *a) {
    for (size_t i = 0; i < tensor.as<float>().size(); ++i)
      ASSERT_NEAR(tensor.as<float>()[i], b->at(name).as<float>()[i], 2e-5) << name;
  }
}

TEST_F(FinetuneRunTest, FrozenLayersStayAndEarlyStopStops) {
  write_splits(parity);
  FinetuneOptions base = options("single-label", "base");
  expect_runs(base);
  FinetuneOptions run = options("single-label", "run");
  run.model = path("base");
  run.tokenizer.clear();
  run.freeze_layers = 1;
  run.layerwise_lr_decay = 0.8;
  run.early_stopping_patience = 1;
  run.early_stopping_threshold = 2;  // nothing is ever so much better
  run.steps.num_train_epochs = 9;
  expect_runs(run);
  EXPECT_EQ(json_of("run/results.json")["steps"], 16);
  const auto before = read_safetensors_map(local_files(), path("base/model/model.safetensors"));
  const auto after = read_safetensors_map(local_files(), path("run/model/model.safetensors"));
  ASSERT_TRUE(before && after);
  for (const auto& [name, tensor] : *after) {
    const bool same = std::ranges::equal(tensor.bytes(), before->at(name).bytes());
    EXPECT_EQ(same, name.starts_with("electra.")) << name;
  }
}

TEST_F(FinetuneRunTest, TagsOfWords) {
  std::string text;
  RandomStream random(Key::from_seed(5));
  for (int i = 0; i < 60; ++i) {
    for (uint64_t k = 0; k < 3 + random.below(5); ++k) {
      const auto word = 5 + random.below(kVocabulary - 5);
      text += fmt::format("w{}\t{}\n", word, word % 3 == 0 ? "B-X" : "O");
    }
    text += "\n";
  }
  for (const char* split : {"train.tsv", "dev.tsv", "test.tsv"}) write(split, text);
  FinetuneOptions run = options("ner", "run");
  run.steps.num_train_epochs = 10;
  run.steps.learning_rate = 1e-2;
  expect_runs(run);
  EXPECT_GT(json_of("run/results.json")["splits"]["test"]["f1_micro"].get<double>(), 0.9);
  EXPECT_EQ(json_of("run/model/config.json")["architectures"],
            Json{"ElectraForTokenClassification"});
  expect_transformers_agree("run", "tokens");
}

TEST_F(FinetuneRunTest, AnswersToQuestions) {
  Json questions = Json::array();
  RandomStream random(Key::from_seed(6));
  for (int i = 0; i < 40; ++i) {
    std::string context;
    const int asked = 5 + static_cast<int>(random.below(8)),
              place = static_cast<int>(random.below(20));
    size_t begin = 0;
    for (int k = 0; k < 40; ++k) {
      if (k == place) begin = context.size();
      const int word = k == place ? asked : 20 + static_cast<int>(random.below(20));
      context += fmt::format("w{} ", word);
    }
    const std::string answer = fmt::format("w{}", asked);
    questions.push_back(
        {{"context", context},
         {"qas", Json::array({{{"id", fmt::format("q{}", i)},
                               {"question", answer},
                               {"answers",
                                Json::array({{{"text", answer}, {"answer_start", begin}}})}}})}});
  }
  const std::string text = dump_json({{"data", Json::array({{{"paragraphs", questions}}})}});
  for (const char* split : {"train.tsv", "dev.tsv", "test.tsv"}) write(split, text);
  write("config.json", config("BertForMaskedLM", "bert"));
  FinetuneOptions run = options("squad", "run");
  run.task.doc_stride = 10;
  run.steps.num_train_epochs = 20;
  run.steps.learning_rate = 1e-2;
  run.eval_steps = 1000;
  expect_runs(run);
  const Json results = json_of("run/results.json");
  EXPECT_GT(results["splits"]["test"]["f1"].get<double>(), 0.5);
  EXPECT_EQ(json_of("run/model/config.json")["architectures"], Json{"BertForQuestionAnswering"});
  EXPECT_FALSE(json_of("run/model/config.json").contains("id2label"));
}

TEST_F(FinetuneRunTest, WhatIsWrongIsSaidBeforeTraining) {
  write_splits(parity);
  FinetuneOptions run = options("single-label", "run");
  run.metric_for_best_model = "f1_binary";
  expect_error(run, "has no metric 'f1_binary'");
  run.metric_for_best_model.clear();
  run.class_weights = "1,2,3";
  expect_error(run, "takes 2 numbers");
  run.class_weights = "none";
  write("dev.tsv", "text\tlabel\nw5\tneither\n");
  expect_error(run, "dev.tsv:2: there is no label 'neither'");
  write("config.json", R"({"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2",
      "vocab_size": 40, "n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 32})");
  expect_error(run, "GPT2LMHeadModel has no head for the objective classification");
  EXPECT_FALSE(std::filesystem::exists(path("run")));
}

// Weights under other names would leave a random encoder: said, and refused.
TEST_F(FinetuneRunTest, WeightsThatDoNotFitAreRefused) {
  write_splits(parity);
  FinetuneOptions base = options("single-label", "base");
  expect_runs(base);
  write("base/model/config.json", [&] {
    Json json = json_of("base/model/config.json");
    json["num_hidden_layers"] = 2;
    return dump_json(json);
  }());
  FinetuneOptions run = options("single-label", "run");
  run.model = path("base");
  run.tokenizer.clear();
  expect_error(run, "num_hidden_layers");
}

}  // namespace
}  // namespace headwater
