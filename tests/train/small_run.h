// A run small enough for a test: a vocabulary and records of a few regular sentences, in a folder
// of its own.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/threefry.h"
#include "checkpoints/native.h"
#include "io/file.h"
#include "records/example.h"
#include "records/record_file.h"
#include "train/pretrain_run.h"

namespace headwater {

class SmallRun : public testing::Test {
 protected:
  static constexpr int64_t kLength = 16, kVocabulary = 40, kRecords = 64;

  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = testing::TempDir() + "/headwater_" + info->test_suite_name() + "_" + info->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    std::ofstream vocabulary(path("vocab.txt"));
    for (const char* special : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"})
      vocabulary << special << "\n";
    for (int64_t i = 5; i < kVocabulary; ++i) vocabulary << "w" << i << "\n";
    write_records("data.tfrecord", 0);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }

  // Rows of different lengths in which each token decides the next one.
  void write_records(const std::string& name, uint64_t seed) {
    auto sink = local_files().open_write(path(name));
    ASSERT_TRUE(sink);
    RecordWriter writer(**sink);
    RandomStream random(Key::from_seed(seed));
    for (int64_t r = 0; r < kRecords; ++r) {
      std::vector<int32_t> ids(kLength, 0), mask(kLength, 0), segments(kLength, 0);
      const int64_t length = 8 + static_cast<int64_t>(random.below(kLength - 8 + 1));
      auto token = static_cast<int32_t>(random.below(kVocabulary - 5));
      for (int64_t i = 0; i < length; ++i) {
        const auto at = static_cast<size_t>(i);
        ids[at] = i == 0 ? 2 : i == length - 1 ? 3 : 5 + token;
        mask[at] = 1;
        token = (token * 3 + 1) % static_cast<int32_t>(kVocabulary - 5);
      }
      std::string payload;
      append_example(
          std::vector<IntFeature>{
              {"input_ids", ids}, {"input_mask", mask}, {"segment_ids", segments}},
          payload);
      ASSERT_TRUE(writer.write(payload));
    }
    ASSERT_TRUE((*sink)->close());
  }

  // Options of a tiny pair; `settings` are flags as on the command line.
  using Settings = std::vector<std::pair<std::string, std::string>>;
  Result<int> pretrain(const std::string& output, const Settings& settings = {}) {
    PretrainOptions options;
    Fields fields;
    options.describe(fields);
    Settings all = {{"records", path("data.tfrecord")},
                    {"vocab_file", path("vocab.txt")},
                    {"output_dir", path(output)},
                    {"max_seq_length", std::to_string(kLength)},
                    {"train_batch_size", "8"},
                    {"eval_batch_size", "8"},
                    {"eval_fraction", "0.1"},
                    {"eval_steps", "10"},
                    {"log_steps", "5"},
                    {"num_train_steps", "20"},
                    {"num_warmup_steps", "4"},
                    {"learning_rate", "2e-3"},
                    {"threads", "2"},
                    {"embedding_size", "16"},
                    {"generator_hidden_size", "0.5"},
                    {"model_hparam_overrides",
                     R"({"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
                         "intermediate_size": 64, "max_position_embeddings": 24})"}};
    all.insert(all.end(), settings.begin(), settings.end());
    for (const auto& [name, value] : all) {
      HW_RETURN_IF_ERROR(fields.set_text(name, value, "test"));
    }
    HW_RETURN_IF_ERROR(options.resolve(fields));
    return run_pretraining(options, fields);
  }

  TrainState last_state(const std::string& output) {
    const auto place = latest_checkpoint(local_files(), path(output));
    EXPECT_TRUE(place);
    auto state = load_checkpoint(local_files(), place->path);
    EXPECT_TRUE(state);
    return std::move(*state);
  }

  std::string file_text(const std::string& name) {
    std::ifstream file(path(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::string folder_;
};

inline void expect_same_tensors(const std::vector<NamedTensor>& a,
                                const std::vector<NamedTensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].name, b[i].name);
    EXPECT_TRUE(std::ranges::equal(a[i].tensor.bytes(), b[i].tensor.bytes())) << a[i].name;
  }
}

}  // namespace headwater
