// The verb `generate` on a model that `train` trained and `export` wrote, against transformers.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "checkpoints/python_peer.h"
#include "cli/run.h"
#include "io/file.h"

namespace headwater {
namespace {

constexpr const char* kConfig =
    R"({"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "vocab_size": 901,
        "n_positions": 64, "n_embd": 48, "n_layer": 2, "n_head": 3})";

class VerbGenerate : public testing::Test {
 protected:
  VerbGenerate() : folder_(testing::TempDir() + fmt::format("hw verb generate {}", ::getpid())) {
    std::filesystem::create_directories(folder_);
  }
  ~VerbGenerate() override { std::filesystem::remove_all(folder_); }

  std::string in(const std::string& name) const { return join_path(folder_, name); }

  // Standard output of a command that must do its work.
  static std::string output_of(std::vector<std::string> words) {
    words.insert(words.begin(), "headwater");
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int code = run(static_cast<int>(argv.size()), argv.data());
    const std::string out = testing::internal::GetCapturedStdout();
    const std::string err = testing::internal::GetCapturedStderr();  // a capture must end
    EXPECT_EQ(code, 0) << err;
    return out;
  }

  void train() const {
    const std::string tests = HW_TESTS_DIR;
    ASSERT_TRUE(write_file_atomic(local_files(), in("gpt2.json"), kConfig));
    output_of({"train",
               "--model",
               in("gpt2.json"),
               "--tokenizer",
               tests + "/golden/bpe/tokenizer.json",
               "--dataset",
               "txt",
               "--records",
               tests + "/../examples/korean-colloquial.txt",
               "--truncate",
               "--pad-to",
               "32",
               "--output-dir",
               in("run"),
               "--batch-size",
               "16",
               "--max-steps",
               "150",
               "--learning-rate",
               "5e-3"});
    output_of({"export", "--checkpoint", in("run"), "--output-dir", in("model")});
  }

 private:
  std::string folder_;
};

TEST_F(VerbGenerate, TokensOfATrainedModelAreThoseOfTransformers) {
  if (!python_has("torch, transformers"))
    GTEST_SKIP() << "no Python with torch and transformers (set HW_PYTHON)";
  train();
  for (const char* penalty : {"1", "1.3"}) {
    const std::string lines =
        output_of({"generate", "--model", in("model"), "--format", "jsonl", "--max-new-tokens",
                   "60", "--repetition-penalty", penalty, "오늘은", "정말", "ㅋㅋ 그래서", "?"});
    ASSERT_TRUE(write_file_atomic(local_files(), in("out.jsonl"), lines));
    EXPECT_EQ(
        output_of({"generate", "--model", in("run"), "--format", "jsonl", "--max-new-tokens", "60",
                   "--repetition-penalty", penalty, "오늘은", "정말", "ㅋㅋ 그래서", "?"}),
        lines)
        << "the run's checkpoint and its export differ";
    const auto [code, output] =
        run_command(python() + " " + quoted(HW_TESTS_DIR "/compat/generate_check.py") + " " +
                    quoted(in("model")) + " " + quoted(in("out.jsonl")) + " " + penalty + " 60");
    EXPECT_EQ(code, 0) << output;
    EXPECT_NE(output.find("tokens are the same"), std::string::npos) << output;
  }
}

}  // namespace
}  // namespace headwater
