// Conversion between dialects: against what other programs made of the same weights, there and back
// bit for bit, and what is refused.
#include "checkpoints/convert.h"

#include <unistd.h>

#include <filesystem>

#include "checkpoints/native.h"
#include "checkpoints/safetensors.h"
#include "checkpoints/weights_report.h"
#include "python_peer.h"
#include "weights_testing.h"

namespace headwater {
namespace {

class ConvertTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* folder :
         {"tf1_electra_small", "tf1_bert_pretraining", "tf1_gpt2", "bert_pretraining", "gpt2_lm",
          "electra_seqcls_multilabel", "hf_discriminator", "hf_generator"}) {
      for (const auto& [name, content] : golden_files("convert", std::string(folder) + "/"))
        fs_.put(name, content);
    }
  }

  Result<ConvertReport> convert(const std::string& from, WeightsFormat to,
                                const std::string& output, bool slots = true) {
    HW_ASSIGN_OR_RETURN(const ModelWeights weights, ModelWeights::open(fs_, from));
    ConvertOptions options;
    options.to = to;
    options.output_dir = output;
    options.slots = slots;
    return convert_weights(fs_, weights, options);
  }

  ConvertReport converted(const std::string& from, WeightsFormat to, const std::string& output,
                          bool slots = true) {
    auto report = convert(from, to, output, slots);
    EXPECT_TRUE(report) << report.error().to_string();
    return report ? *std::move(report) : ConvertReport();
  }

  // Every tensor of both, with names, shapes and bits.
  void expect_same(const std::string& a, const std::string& b, bool slots = false) {
    auto x = open_weights(fs_, a), y = open_weights(fs_, b);
    ASSERT_TRUE(x) << x.error().to_string();
    ASSERT_TRUE(y) << y.error().to_string();
    const auto difference = diff_weights(**x, **y, {.slots = slots});
    ASSERT_TRUE(difference) << difference.error().to_string();
    EXPECT_TRUE(difference->same())
        << difference->only_a.size() << " only in " << a << ", " << difference->only_b.size()
        << " only in " << b << ", " << difference->reshaped.size() << " reshaped, "
        << difference->changed.size() << " changed";
    EXPECT_GT(difference->equal, 0);
  }

  std::string text(const std::string& path) { return fs_.files().at(path); }

  MemoryFileSystem fs_;
};

TEST_F(ConvertTest, AnElectraPairAsTransformersConvertsIt) {
  const auto report = converted("tf1_electra_small", WeightsFormat::kHuggingFace, "hf");
  EXPECT_EQ(report.outputs, (std::vector<std::string>{"hf/discriminator", "hf/generator"}));
  EXPECT_EQ(report.moments_dropped, 164);
  expect_same("hf/discriminator", "hf_discriminator");
  expect_same("hf/generator", "hf_generator");
  const Json config = *parse_json(text("hf/generator/config.json"), "config");
  EXPECT_EQ(config.at("architectures")[0], "ElectraForMaskedLM");
  EXPECT_EQ(config.at("embedding_size"), 16);
  EXPECT_EQ(config.at("hidden_size"), 8);
}

// The same bytes as TensorFlow's own file.
TEST_F(ConvertTest, AnElectraPairThereAndBack) {
  converted("tf1_electra_small", WeightsFormat::kHuggingFace, "hf");
  converted("hf", WeightsFormat::kTensorFlow, "back");
  auto original = open_weights(fs_, "tf1_electra_small"), back = open_weights(fs_, "back");
  ASSERT_TRUE(original && back);
  const auto difference = *diff_weights(**original, **back, {});
  ASSERT_EQ(difference.only_a.size(), 1u);  // no step in a Hugging Face directory
  EXPECT_EQ(difference.only_a[0].name, "global_step");
  EXPECT_TRUE(difference.only_b.empty() && difference.changed.empty() &&
              difference.reshaped.empty());
}

TEST_F(ConvertTest, NativeKeepsMomentsAndStep) {
  const auto report = converted("tf1_electra_small", WeightsFormat::kNative, "run");
  EXPECT_EQ(report.outputs, std::vector<std::string>{"run/checkpoint-3"});
  EXPECT_EQ(report.moments, 164);
  EXPECT_EQ(report.moments_dropped, 0);
  const auto state = load_checkpoint(fs_, "run/checkpoint-3");
  ASSERT_TRUE(state) << state.error().to_string();
  EXPECT_EQ(state->step, 3);
  EXPECT_EQ(state->slots.size(), 164u);
  EXPECT_TRUE(state->aliases.contains("generator.electra.embeddings.word_embeddings.weight"));
  converted("run", WeightsFormat::kTensorFlow, "back");
  for (const char* part : {"model.ckpt-3.index", "model.ckpt-3.data-00000-of-00001"}) {
    EXPECT_TRUE(text(std::string("tf1_electra_small/") + part) == text(std::string("back/") + part))
        << part;
  }
}

TEST_F(ConvertTest, BertAndGpt2AsTransformersHasThem) {
  for (const auto& [tensorflow, hugging_face] :
       {std::pair("tf1_bert_pretraining", "bert_pretraining"), std::pair("tf1_gpt2", "gpt2_lm")}) {
    const std::string out = std::string("hf_of_") + tensorflow,
                      back = std::string("tf_of_") + hugging_face;
    converted(tensorflow, WeightsFormat::kHuggingFace, out);
    expect_same(out, hugging_face);
    converted(hugging_face, WeightsFormat::kTensorFlow, back);
    auto a = open_weights(fs_, tensorflow), b = open_weights(fs_, back);
    ASSERT_TRUE(a && b);
    const auto difference = *diff_weights(**a, **b, {});
    EXPECT_TRUE(difference.only_b.empty() && difference.changed.empty() &&
                difference.reshaped.empty())
        << tensorflow;
    for (const WeightEntry& entry : difference.only_a) EXPECT_EQ(entry.name, "global_step");
  }
}

TEST_F(ConvertTest, BothFormsOfADirectory) {
  for (const char* model : {"bert_pretraining", "gpt2_lm", "electra_seqcls_multilabel",
                            "hf_discriminator", "hf_generator"}) {
    const std::string bin = std::string("bin_") + model, again = std::string("again_") + model;
    converted(model, WeightsFormat::kHuggingFaceBin, bin);
    converted(bin, WeightsFormat::kHuggingFace, again);
    expect_same(again, model);
    // What config.json says beyond our own keys is kept.
    const Json before = *parse_json(text(std::string(model) + "/config.json"), "before");
    const Json after = *parse_json(text(again + "/config.json"), "after");
    for (const auto& [key, value] : before.items()) {
      if (key == "transformers_version" || key == "dtype" || key == "torch_dtype") continue;
      EXPECT_EQ(after.value(key, Json()), value) << model << ": " << key;
    }
  }
}

TEST_F(ConvertTest, OneNetworkGoesUnderItsScope) {
  converted("hf_discriminator", WeightsFormat::kNative, "run");
  const auto state = load_checkpoint(fs_, "run/checkpoint-0");
  ASSERT_TRUE(state) << state.error().to_string();
  for (const NamedTensor& parameter : state->parameters)
    EXPECT_TRUE(parameter.name.starts_with("discriminator.")) << parameter.name;
  converted("run", WeightsFormat::kHuggingFace, "back");
  expect_same("back/discriminator", "hf_discriminator");
  // The weights do not show it, the checkpoint between the two says it.
  const Json config = *parse_json(text("back/discriminator/config.json"), "config.json");
  EXPECT_EQ(config.value("num_attention_heads", 0), 4);
}

std::string error_of(const Result<ConvertReport>& result) {
  return result ? "no error" : result.error().to_string();
}

TEST_F(ConvertTest, AContradictingConfigShowsBoth) {
  fs_.put("gpt2_lm/config.json", R"({"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"],
      "vocab_size": 128, "n_embd": 32, "n_layer": 12, "n_head": 4, "n_positions": 24})");
  const std::string error = error_of(convert("gpt2_lm", WeightsFormat::kNative, "run"));
  EXPECT_NE(error.find("n_layer is 12"), std::string::npos) << error;
  EXPECT_NE(error.find("says 2"), std::string::npos) << error;
}

TEST_F(ConvertTest, WhatIsMissingIsNamed) {
  auto source = *open_weights(fs_, "hf_discriminator");
  std::vector<NamedTensor> kept;
  for (size_t i = 0; i < source->entries().size(); ++i) {
    const WeightEntry& entry = source->entries()[i];
    if (entry.name != "electra.encoder.layer.1.output.dense.bias")
      kept.push_back({entry.name, *source->read(i)});
  }
  ASSERT_TRUE(fs_.make_directories("part"));
  ASSERT_TRUE(write_safetensors_file(fs_, "part/model.safetensors", tensor_views(kept)));
  const std::string error = error_of(convert("part", WeightsFormat::kTensorFlow, "out"));
  EXPECT_NE(error.find("electra.encoder.layer.1.output.dense.bias is missing"), std::string::npos)
      << error;
  EXPECT_FALSE(fs_.exists("out"));
}

TEST_F(ConvertTest, NeverOverTheInputOrOtherFiles) {
  const std::string same = error_of(convert("gpt2_lm", WeightsFormat::kHuggingFace, "gpt2_lm"));
  EXPECT_NE(same.find("where the input stands"), std::string::npos) << same;
  const std::string other = error_of(convert("gpt2_lm", WeightsFormat::kHuggingFace, "tf1_gpt2"));
  EXPECT_NE(other.find("not empty"), std::string::npos) << other;
}

// Every golden model in every foreign format, as the programs that it is for read it.
TEST_F(ConvertTest, TransformersAndTensorFlowReadEveryOutput) {
  if (!python_has("torch, transformers, tensorflow")) {
    GTEST_SKIP() << "no Python with torch, transformers and tensorflow (set HW_PYTHON)";
  }
  const std::vector<std::string> hugging_face = {"bert_pretraining", "gpt2_lm",
                                                 "electra_seqcls_multilabel", "hf_discriminator",
                                                 "hf_generator"};
  const std::vector<std::string> tensorflow = {"tf1_electra_small", "tf1_bert_pretraining",
                                               "tf1_gpt2"};
  for (const std::string& model : hugging_face) {
    const std::string through = "out/tf/" + model;  // and back, so that nothing is only copied
    converted(model, WeightsFormat::kTensorFlow, through);
    for (const auto& [name, content] : golden_files("convert", model + "/config.json"))
      fs_.put(through + "/config.json", content);
    converted(through, WeightsFormat::kHuggingFace, "out/hf/" + model);
    converted(model, WeightsFormat::kHuggingFaceBin, "out/hf/bin/" + model);
    for (const auto& [name, content] : golden_files("convert", model + "/"))
      fs_.put("out/reference/" + name, content);
  }
  for (const std::string& model : tensorflow) {
    converted(model, WeightsFormat::kHuggingFace, "out/hf/" + model);
    converted(model, WeightsFormat::kTensorFlow, "out/tf/" + model);
    converted(model, WeightsFormat::kTensorFlow, "out/tf/without_slots_" + model, false);
  }
  const std::string folder = testing::TempDir() + fmt::format("hw_convert_{}", ::getpid());
  for (const auto& [name, content] : fs_.files()) {
    if (!name.starts_with("out/")) continue;
    const std::string path = join_path(folder, name.substr(4));
    ASSERT_TRUE(local_files().make_directories(directory_name(path)));
    ASSERT_TRUE(write_file_atomic(local_files(), path, content));
  }
  const auto [status, output] = run_command(
      python() + " " + quoted(HW_TESTS_DIR "/compat/convert_check.py") + " " + quoted(folder));
  std::filesystem::remove_all(folder);
  EXPECT_EQ(status, 0) << output;
  RecordProperty("peers", output);
}

}  // namespace
}  // namespace headwater
