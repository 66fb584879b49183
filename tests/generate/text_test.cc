// Prompts in, text out: against transformers' tokens and decoding (tests/golden/generate/make.py).
#include "generate/text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/threads.h"
#include "io/memory_files.h"

namespace headwater {
namespace {

std::string golden_path(const std::string& name) {
  return std::string(HW_TESTS_DIR) + "/golden/" + name;
}

// The files of a folder in memory, for tests that change them.
void copy_folder(MemoryFileSystem& fs, const std::string& name) {
  const auto files = local_files().list(golden_path(name));
  ASSERT_TRUE(files) << files.error().to_string();
  for (const FileInfo& file : *files)
    fs.put("model/" + base_name(file.path), *read_file(local_files(), file.path));
}

class Text : public testing::Test {
 protected:
  void SetUp() override {
    set_num_threads(1);
    copy_folder(fs_, "generate/model");
  }
  Result<TextModel> open(const std::string& path = "model") {
    return TextModel::open(fs_, path, "", {});
  }
  std::string open_error(const std::string& path = "model") {
    const auto model = open(path);
    return model ? "" : model.error().to_string();
  }

  MemoryFileSystem fs_;
};

TEST_F(Text, IsThatOfTransformers) {
  const auto model = open();
  ASSERT_TRUE(model) << model.error().to_string();
  const auto generator = Generator::create(model->model, *model->executor, *model->store);
  ASSERT_TRUE(generator) << generator.error().to_string();
  const std::string path = golden_path("generate/generated.json");
  const Json cases = *parse_json(*read_file(local_files(), path), path);
  int compared = 0;
  for (const Json& test : cases) {
    if (test["prompt"].is_null()) continue;
    const std::string prompt = test["prompt"];
    SCOPED_TRACE(prompt);
    const auto ids = prompt_ids(model->tokenizer, prompt, model->start_token);
    ASSERT_TRUE(ids) << ids.error().to_string();
    EXPECT_EQ(*ids, test["prompt_ids"].get<std::vector<int32_t>>());
    GenerateOptions options;
    options.max_new_tokens = test["max_new_tokens"];
    options.sampling.repetition_penalty = test["repetition_penalty"];
    std::string streamed;
    const auto texts = generate_text(**generator, model->tokenizer, *ids, options, Key(),
                                     [&](int64_t, std::string_view piece) {
                                       streamed += piece;
                                       return Result<>();
                                     });
    ASSERT_TRUE(texts) << texts.error().to_string();
    EXPECT_EQ(texts->texts[0].text, test["text"].get<std::string>());
    EXPECT_EQ(streamed, texts->texts[0].text);
    ++compared;
  }
  EXPECT_EQ(compared, 8);
}

TEST_F(Text, StartAndStopTokens) {
  const auto stops = [&] { return open()->stop_tokens; };
  EXPECT_EQ(stops(), std::vector<int32_t>{900});
  EXPECT_EQ(open()->start_token, 900);
  fs_.put("model/generation_config.json",
          R"({"eos_token_id": [5, 7, "x", -1], "bos_token_id": 3})");
  EXPECT_EQ(stops(), (std::vector<int32_t>{5, 7}));
  EXPECT_EQ(open()->start_token, 3);
  // Without it config.json says, and at last the tokenizer.
  ASSERT_TRUE(fs_.remove("model/generation_config.json"));
  Json config = *parse_json(fs_.files().at("model/config.json"), "config.json");
  config["eos_token_id"] = 11;
  fs_.put("model/config.json", dump_json(config));
  EXPECT_EQ(stops(), std::vector<int32_t>{11});
  config.erase("eos_token_id");
  config["bos_token_id"] = nullptr;
  fs_.put("model/config.json", dump_json(config));
  EXPECT_EQ(stops(), std::vector<int32_t>{900});
  EXPECT_EQ(open()->start_token, 900);
  fs_.put("model/generation_config.json", "{");
  EXPECT_NE(open_error().find("generation_config.json"), std::string::npos);
}

TEST_F(Text, SaysWhatIsMissing) {
  ASSERT_TRUE(fs_.remove("model/tokenizer.json"));
  const auto model = open();
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, Code::kNotFound);
  EXPECT_NE(open_error().find("has no tokenizer with it"), std::string::npos) << open_error();
  fs_.put("model/tokenizer.json", "{}");  // there, but damaged: not passed over
  EXPECT_NE(open_error().find("tokenizer.json"), std::string::npos) << open_error();
  EXPECT_EQ(open_error().find("has no tokenizer with it"), std::string::npos) << open_error();
  EXPECT_EQ(open("nowhere").error().code, Code::kNotFound);
  copy_folder(fs_, "convert/bert_pretraining");
  EXPECT_NE(open_error().find("BertForPreTraining does not predict the next token"),
            std::string::npos)
      << open_error();
}

TEST_F(Text, Prompts) {
  const auto model = open();
  ASSERT_TRUE(model) << model.error().to_string();
  EXPECT_EQ(*prompt_ids(model->tokenizer, "", 900), std::vector<int32_t>{900});
  EXPECT_NE(prompt_ids(model->tokenizer, "", std::nullopt).error().to_string().find("is empty"),
            std::string::npos);
  EXPECT_NE(prompt_ids(model->tokenizer, "a\xFF", 900).error().to_string().find("at byte 1"),
            std::string::npos);
}

// Rows of the word table that the tokenizer has no tokens for are never taken.
TEST_F(Text, OnlyTokensOfTheTokenizer) {
  const auto model = open();
  ASSERT_TRUE(model) << model.error().to_string();
  const auto generator = Generator::create(model->model, *model->executor, *model->store);
  const auto words = Vocabulary::from_tokens({"[UNK]", "a", "b", "##c"}, "vocab.txt");
  const AnyTokenizer small = *Tokenizer::create(*words, {});
  const auto texts =
      generate_text(**generator, small, std::vector<int32_t>{1}, {.max_new_tokens = 10}, Key());
  ASSERT_TRUE(texts) << texts.error().to_string();
  for (const int32_t id : texts->texts[0].ids) EXPECT_LT(id, 4);
  EXPECT_EQ(texts->texts[0].ids.size(), 10u);
}

}  // namespace
}  // namespace headwater
