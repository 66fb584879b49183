// The verb `export` on checkpoints written to a temporary folder.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "checkpoints/export_meta.h"
#include "checkpoints/hf_export.h"
#include "checkpoints/native.h"
#include "cli/run.h"
#include "io/file.h"

namespace headwater {
namespace {

class VerbExport : public testing::Test {
 protected:
  VerbExport() : folder_(testing::TempDir() + fmt::format("hw verb export {}", ::getpid())) {
    std::filesystem::create_directories(folder_);
  }
  ~VerbExport() override { std::filesystem::remove_all(folder_); }

  std::string in(const std::string& name) const { return join_path(folder_, name); }
  std::string text(const std::string& name) const {
    return read_file(local_files(), in(name)).value_or("");
  }

  void write_run(int64_t step) {
    ElectraConfig config;
    config.vocab_size = 8, config.embedding_size = 4, config.hidden_size = 8;
    config.num_hidden_layers = 1, config.num_attention_heads = 2, config.intermediate_size = 8;
    TrainState state;
    state.step = step;
    ExportMeta values{config, config, "", TokenizerOptions{}};
    values.tokenizer->strip_accents = false;
    for (const auto network : {ElectraNetwork::kDiscriminator, ElectraNetwork::kGenerator}) {
      const auto specs = hf_electra_tensors(config, network);
      for (const TensorSpec& spec : *specs) {
        state.parameters.push_back({fmt::format("{}.{}", network_name(network), spec.name),
                                    Tensor(spec.dtype, spec.shape)});
      }
    }
    const std::string words = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n한\n";
    ASSERT_TRUE(local_files().make_directories(in("run")));
    ASSERT_TRUE(write_file_atomic(local_files(), in("run/vocab.txt"), words));
    values.vocabulary_digest = Vocabulary::load(local_files(), in("run/vocab.txt"))->digest();
    Json meta = Json::object();
    put_export_meta(meta, values);
    state.meta = dump_json(meta);
    const auto saved = save_checkpoint(local_files(), in("run"), state, 0);
    ASSERT_TRUE(saved) << saved.error().to_string();
  }

  // Exit code; what went to standard error in `err`, to standard output in `out`.
  int export_run(std::vector<std::string> arguments) {
    std::vector<std::string> words = {"headwater", "export"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int code = run(static_cast<int>(argv.size()), argv.data());
    out = testing::internal::GetCapturedStdout();
    err = testing::internal::GetCapturedStderr();
    return code;
  }

  std::string out, err;

 private:
  std::string folder_;
};

TEST_F(VerbExport, TakesTheLatestCheckpointOfARun) {
  write_run(9);
  write_run(10);
  ASSERT_EQ(export_run({"--checkpoint", in("run"), "--output-dir", in("hf")}), 0) << err;
  EXPECT_NE(out.find("hf/discriminator: step 10, "), std::string::npos) << out;
  EXPECT_NE(out.find("hf/generator: step 10, "), std::string::npos) << out;
  EXPECT_EQ(err, "");
  EXPECT_NE(text("hf/generator/config.json").find("ElectraForMaskedLM"), std::string::npos);
  EXPECT_EQ(text("hf/generator/vocab.txt"), text("run/vocab.txt"));
  EXPECT_NE(text("hf/generator/tokenizer_config.json").find("\"strip_accents\": false"),
            std::string::npos);
}

TEST_F(VerbExport, TakesOneCheckpointAndOverridesTheTokenizer) {
  write_run(9);
  write_run(10);
  ASSERT_EQ(export_run({"--checkpoint", in("run/checkpoint-9/"), "--output-dir", in("hf"),
                        "--do-lower-case"}),
            0)
      << err;
  EXPECT_NE(out.find("step 9"), std::string::npos);
  EXPECT_NE(text("hf/generator/tokenizer_config.json").find("\"do_lower_case\": true"),
            std::string::npos);
}

TEST_F(VerbExport, SaysWhatIsMissing) {
  EXPECT_EQ(export_run({"--checkpoint", in("run"), "--output-dir", in("hf")}), 4);
  write_run(9);
  std::filesystem::rename(in("run/vocab.txt"), in("words.txt"));
  EXPECT_EQ(export_run({"--checkpoint", in("run"), "--output-dir", in("hf")}), 4);
  EXPECT_NE(err.find("--vocab-file"), std::string::npos) << err;
  EXPECT_EQ(export_run({"--checkpoint", in("run"), "--output-dir", in("hf"), "--vocab-file",
                        in("words.txt")}),
            0)
      << err;
  EXPECT_EQ(export_run({"--checkpoint", in("run"), "--output-dir", in("hf"), "--vocab-file",
                        in("words.txt")}),
            3);
  EXPECT_NE(err.find("--overwrite"), std::string::npos) << err;
  ASSERT_TRUE(write_file_atomic(local_files(), in("other.txt"),
                                "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nx\ny\nz\n"));
  EXPECT_EQ(export_run({"--checkpoint", in("run"), "--output-dir", in("hf2"), "--vocab-file",
                        in("other.txt")}),
            3);
  EXPECT_NE(err.find("is not the vocabulary with which"), std::string::npos) << err;
  EXPECT_FALSE(local_files().exists(in("hf2")));
}

TEST_F(VerbExport, ReportsADamagedCheckpointAndTheOneBefore) {
  write_run(9);
  write_run(10);
  std::string state = text("run/checkpoint-10/state.safetensors");
  state[state.size() / 2] = static_cast<char>(state[state.size() / 2] ^ 4);
  ASSERT_TRUE(write_file_atomic(local_files(), in("run/checkpoint-10/state.safetensors"), state));
  EXPECT_EQ(export_run({"--checkpoint", in("run"), "--output-dir", in("hf")}), 3);
  EXPECT_NE(err.find("run/checkpoint-9"), std::string::npos) << err;
  EXPECT_FALSE(local_files().exists(in("hf")));
}

}  // namespace
}  // namespace headwater
