// Real data: a tiny model from fresh weights learns Korean film reviews well above chance, and
// KOTE's emotions better than any constant answer. Seconds on one core; needs the larger data.
#include "small_task.h"

#include <algorithm>
#include <cstdlib>

namespace headwater {
namespace {

class LearningTest : public SmallTask {
 protected:
  void SetUp() override {
    SmallTask::SetUp();
    const char* named = std::getenv("HW_SHARED");
    shared_ = named != nullptr ? named : HW_TESTS_DIR "/../../shared";
    if (!std::filesystem::exists(shared_ + "/data/kote/val.tsv"))
      GTEST_SKIP() << "needs the data of $HW_SHARED or ../shared";
    std::filesystem::copy_file(shared_ + "/fixtures/tokenizers/vocabs/ko3k/vocab.txt",
                               path("vocab.txt"),
                               std::filesystem::copy_options::overwrite_existing);
    write("config.json",
          R"({"architectures": ["ElectraForPreTraining"], "model_type": "electra",
              "vocab_size": 3000, "embedding_size": 64, "hidden_size": 64, "num_hidden_layers": 1,
              "num_attention_heads": 2, "intermediate_size": 64, "max_position_embeddings": 48,
              "hidden_dropout_prob": 0, "attention_probs_dropout_prob": 0})");
  }

  std::vector<std::string> lines_of(const std::string& name) const {
    std::ifstream in(shared_ + "/data/" + name);
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  }
  double test_metric(const char* name) const {
    return json_of("run/results.json")["splits"]["test"][name].get<double>();
  }
  FinetuneOptions run_options(const char* task, int64_t epochs) const {
    FinetuneOptions run = options(task, "run");
    run.dev.clear();
    run.batch_size = 32;
    run.steps.learning_rate = 3e-3;
    run.steps.num_train_epochs = epochs;
    return run;
  }

  std::string shared_;
};

TEST_F(LearningTest, FilmReviews) {
  std::vector<std::string> by_label[2];
  std::vector<std::string> lines = lines_of("nsmc/binary_train.tsv");
  for (size_t i = 1; i < lines.size(); ++i) by_label[lines[i].back() == '1'].push_back(lines[i]);
  std::string train = "text\tlabel\n", test = train;
  for (size_t i = 0; i < 2500; ++i) {
    for (const auto& rows : by_label) (i < 2000 ? train : test) += rows.at(i) + "\n";
  }
  write("train.tsv", train);
  write("test.tsv", test);
  expect_runs(run_options("nsmc", 3));
  EXPECT_GT(test_metric("accuracy"), 0.68);  // chance: 0.5
}

// The best micro F1 that the same labels for every comment can have.
double best_constant(const std::vector<std::string>& rows) {
  std::vector<int> counts(44);
  int all = 0;
  for (const std::string& row : rows) {
    std::stringstream labels(row.substr(row.rfind('\t') + 1));
    for (std::string label; std::getline(labels, label, ',');)
      ++counts[static_cast<size_t>(std::stoi(label))], ++all;
  }
  std::ranges::sort(counts, std::greater<>());
  double best = 0;
  int found = 0;
  for (size_t k = 0; k < counts.size(); ++k) {
    found += counts[k];
    const auto chosen = static_cast<double>((k + 1) * rows.size());
    best = std::max(best, 2.0 * found / (chosen + all));
  }
  return best;
}

TEST_F(LearningTest, EmotionsOfComments) {
  std::vector<std::string> train = lines_of("kote/val.tsv"), test = lines_of("kote/test.tsv");
  train.resize(2500);
  test.resize(600);
  write("train.tsv", fmt::format("{}\n", fmt::join(train, "\n")));
  write("test.tsv", fmt::format("{}\n", fmt::join(test, "\n")));
  expect_runs(run_options("kote", 6));
  EXPECT_GT(test_metric("f1_micro"), best_constant(test) + 0.01);
  EXPECT_EQ(json_of("run/results.json")["thresholds"]["values"], Json{0.3});
}

}  // namespace
}  // namespace headwater
