// Tiny tasks and models in a folder of their own, small enough for a test.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/threefry.h"
#include "finetune/apply_run.h"
#include "finetune/finetune_run.h"

namespace headwater {

class SmallTask : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = testing::TempDir() + "/headwater_" + info->test_suite_name() + "_" + info->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    std::string words;
    for (const char* special : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"})
      words += std::string(special) + "\n";
    for (int i = 5; i < kVocabulary; ++i) words += "w" + std::to_string(i) + "\n";
    write("vocab.txt", words);
    write("config.json", config("ElectraForPreTraining", "electra"));
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  void write(const std::string& name, const std::string& content) const {
    std::ofstream(path(name)) << content;
  }

  static std::string config(const char* architecture, const char* type) {
    return fmt::format(
        R"({{"architectures": ["{}"], "model_type": "{}", "vocab_size": {}, "embedding_size": 16,
        "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2,
        "intermediate_size": 32, "max_position_embeddings": 32}})",
        architecture, type, kVocabulary);
  }

  // Rows of words; `label` sees the words' numbers.
  template <class Label>
  std::string rows(uint64_t seed, int count, Label label) const {
    std::string text = "text\tlabel\n";
    RandomStream random(Key::from_seed(seed));
    for (int i = 0; i < count; ++i) {
      std::vector<int> words(3 + random.below(8));
      for (int& word : words) word = 5 + static_cast<int>(random.below(kVocabulary - 5));
      for (size_t k = 0; k < words.size(); ++k)
        text += (k == 0 ? "w" : " w") + std::to_string(words[k]);
      text += "\t" + label(words) + "\n";
    }
    return text;
  }

  FinetuneOptions options(const std::string& task, const std::string& output) const {
    FinetuneOptions options;
    options.task.task = task;
    options.model = path("config.json");
    options.tokenizer = path("vocab.txt");
    options.train = path("train.tsv");
    options.dev = path("dev.tsv");
    options.test = path("test.tsv");
    options.output_dir = path(output);
    options.batch_size = 8;
    options.threads = 1;
    options.steps.learning_rate = 5e-3;
    options.steps.num_train_epochs = 2;
    return options;
  }

  static Result<int> run(FinetuneOptions& options) {
    Fields fields;
    options.describe(fields);
    HW_RETURN_IF_ERROR(options.resolve(fields));
    return run_finetuning(options, fields);
  }
  static void expect_runs(FinetuneOptions options) {
    const auto code = run(options);
    ASSERT_TRUE(code) << code.error().to_string();
    EXPECT_EQ(*code, 0);
  }
  static void expect_error(FinetuneOptions options, const std::string& part) {
    const auto code = run(options);
    ASSERT_FALSE(code);
    EXPECT_NE(code.error().to_string().find(part), std::string::npos) << code.error().to_string();
  }

  std::string text_of(const std::string& name) const {
    std::ifstream in(path(name), std::ios::binary);
    EXPECT_TRUE(in.good()) << name;
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  Json json_of(const std::string& name) const { return *parse_json(text_of(name), name); }

  static constexpr int kVocabulary = 40;
  std::string folder_;
};

}  // namespace headwater
