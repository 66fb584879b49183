// Decoding against transformers' generate() (tests/golden/generate/make.py), and against the model
// run as a whole.
#include "generate/generator.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/threads.h"
#include "generate/text.h"
#include "models/model_run.h"

namespace headwater {
namespace {

std::string golden_path(const std::string& name) {
  return std::string(HW_TESTS_DIR) + "/golden/" + name;
}

// The smallest tokenizer serves where a test has tokens only.
TextModel open_model(const std::string& folder) {
  set_num_threads(1);
  auto model =
      TextModel::open(local_files(), golden_path(folder), golden_path("bpe/tokenizer.json"), {});
  if (!model) throw std::runtime_error(model.error().to_string());
  return *std::move(model);
}

std::unique_ptr<Generator> make_generator(const TextModel& model,
                                          const GeneratorOptions& options = {}) {
  auto generator = Generator::create(model.model, *model.executor, *model.store, options);
  if (!generator) throw std::runtime_error(generator.error().to_string());
  return *std::move(generator);
}

TEST(Generator, TokensAreThoseOfTransformers) {
  const std::string path = golden_path("generate/generated.json");
  const Json cases = *parse_json(*read_file(local_files(), path), path);
  std::map<std::string, TextModel> models;
  for (const Json& test : cases) {
    const std::string folder = test["model"];
    if (!models.contains(folder)) models.emplace(folder, open_model(folder));
    const TextModel& model = models.at(folder);
    const auto generator = make_generator(model);
    const auto prompt = test["prompt_ids"].get<std::vector<int32_t>>();
    SCOPED_TRACE(test["model"].dump() + test["prompt_ids"].dump());
    GenerateOptions options;
    options.max_new_tokens = test["max_new_tokens"];
    options.sampling.repetition_penalty = test["repetition_penalty"];
    options.stop_tokens = model.stop_tokens;
    const auto found = generate(*generator, prompt, options, Key());
    ASSERT_TRUE(found) << found.error().to_string();
    EXPECT_EQ(found->sequences[0].ids, test["ids"].get<std::vector<int32_t>>());
    EXPECT_EQ(found->sequences[0].stopped, test["stopped"].get<bool>());
    const auto logits = generator->start(prompt);
    ASSERT_TRUE(logits) << logits.error().to_string();
    for (size_t i = 0; i < test["first_logits"].size(); ++i)
      EXPECT_NEAR(logits->as<float>()[i], test["first_logits"][i].get<float>(), 2e-5);
  }
  EXPECT_EQ(cases.size(), 28u);
}

// The logits that the whole model has for the last of these tokens.
Tensor uncached(const TextModel& model, std::span<const int32_t> tokens) {
  const auto size = static_cast<int64_t>(tokens.size());
  ModelRun run(model.model, 1, size);
  for (const Parameter& p : run.parameters()) run.set(p.name, *model.store->get(p.name));
  run.feed("input_ids", std::vector<int32_t>(tokens.begin(), tokens.end()));
  run.feed("attention_mask", std::vector<int32_t>(tokens.size(), 1));
  run.run();
  const Tensor logits = run.fetch("logits");
  const int64_t width = logits.shape()[2];
  return Tensor::f32({1, width},
                     logits.as<float>().subspan(static_cast<size_t>((size - 1) * width)));
}

std::vector<int32_t> some_tokens(int64_t count) {
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i < count; ++i) tokens.push_back(static_cast<int32_t>((i * 37 + 11) % 900));
  return tokens;
}

TEST(Generator, CachedEqualsUncached) {
  const TextModel model = open_model("generate/model");
  const auto generator = make_generator(model);
  for (const int64_t begin : {1, 2, 31, 32, 33, 50}) {
    std::vector<int32_t> tokens = some_tokens(begin);
    auto logits = generator->start(tokens);
    for (int64_t more = 0; more < 5; ++more) {
      ASSERT_TRUE(logits) << logits.error().to_string();
      EXPECT_LT(relative_error(logits->as<float>(), uncached(model, tokens).as<float>()), 1e-5)
          << begin << " + " << more;
      tokens.push_back(static_cast<int32_t>(700 + more));
      logits = generator->extend(std::span(tokens).last(1));
    }
  }
}

TEST(Generator, SequencesOfOnePromptAreDrawnApart) {
  const TextModel model = open_model("generate/model");
  const auto one = make_generator(model), three = make_generator(model, {.batch_size = 3});
  GenerateOptions options;
  options.sampling = {.temperature = 0.9, .top_k = 50, .top_p = 0.95};
  options.max_new_tokens = 30;
  const std::vector<int32_t> prompt = {5, 6, 7};
  const Key key = Key::from_seed(42);
  const auto all = generate(*three, prompt, options, key);
  ASSERT_TRUE(all) << all.error().to_string();
  EXPECT_EQ(generate(*three, prompt, options, key)->sequences[1].ids, all->sequences[1].ids);
  EXPECT_NE(all->sequences[0].ids, all->sequences[1].ids);
  EXPECT_NE(all->sequences[1].ids, all->sequences[2].ids);
  EXPECT_EQ(generate(*one, prompt, options, key)->sequences[0].ids, all->sequences[0].ids);
  EXPECT_NE(generate(*one, prompt, options, Key::from_seed(43))->sequences[0].ids,
            all->sequences[0].ids);
}

TEST(Generator, StopsAtAStopTokenAndAtTheEnd) {
  const TextModel model = open_model("generate/model");
  const auto generator = make_generator(model);
  GenerateOptions options;
  options.max_new_tokens = 200;  // more than fit
  const std::vector<int32_t> prompt = {17};
  std::vector<int32_t> seen;
  const auto whole = generate(*generator, prompt, options, Key(), [&](int64_t, int32_t token) {
    seen.push_back(token);
    return Result<>();
  });
  ASSERT_TRUE(whole) << whole.error().to_string();
  const std::vector<int32_t>& ids = whole->sequences[0].ids;
  EXPECT_EQ(ids.size(), 95u);
  EXPECT_FALSE(whole->sequences[0].stopped);
  EXPECT_EQ(seen, ids);
  options.stop_tokens = {-1, ids[60]};
  const auto until = std::ranges::find(ids, ids[60]);
  const auto stopped = generate(*generator, prompt, options, Key());
  EXPECT_EQ(stopped->sequences[0].ids, std::vector<int32_t>(ids.begin(), until));
  EXPECT_TRUE(stopped->sequences[0].stopped);
  options.max_new_tokens = 0;
  EXPECT_TRUE(generate(*generator, prompt, options, Key())->sequences[0].ids.empty());
}

TEST(Generator, ForbiddenTokensAreNotTaken) {
  const TextModel model = open_model("generate/model");
  const auto generator = make_generator(model);
  GenerateOptions options;
  options.token_count = 20;
  const auto found = generate(*generator, std::vector<int32_t>{17}, options, Key());
  ASSERT_TRUE(found);
  for (const int32_t id : found->sequences[0].ids) EXPECT_LT(id, 20);
}

TEST(Generator, RefusesWhatDoesNotFit) {
  const TextModel model = open_model("generate/model");
  const auto generator = make_generator(model, {.max_tokens = 40});
  const auto error_of = [&](std::vector<int32_t> prompt) {
    const auto result = generate(*generator, prompt, {}, Key());
    return result ? std::string() : result.error().to_string();
  };
  EXPECT_NE(error_of({}).find("no token"), std::string::npos);
  EXPECT_NE(error_of({901}).find("token 901 is not one of the model's 901"), std::string::npos);
  EXPECT_NE(error_of({3, -1}).find("token -1"), std::string::npos);
  EXPECT_NE(error_of(some_tokens(40)).find("the prompt has 40 tokens"), std::string::npos);
  EXPECT_EQ(error_of(some_tokens(39)), "");
  EXPECT_FALSE(generator->extend(std::vector<int32_t>{1, 2}));
  EXPECT_TRUE(generator->extend(std::vector<int32_t>{1}));
  EXPECT_FALSE(generator->extend(std::vector<int32_t>{1}));
  EXPECT_FALSE(make_generator(model)->extend(std::vector<int32_t>{1}));
}

TEST(Generator, OnlyLanguageModelsGenerate) {
  const TextModel model = open_model("generate/model");
  Model other;
  other.architecture = Architecture::kBertForMaskedLM;
  const auto refused = Generator::create(other, *model.executor, *model.store, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnimplemented);
  EXPECT_NE(refused.error().to_string().find("BertForMaskedLM"), std::string::npos);
  EXPECT_FALSE(Generator::create(model.model, *model.executor, *model.store, {.batch_size = 0}));
}

TEST(Generator, DivergedWeightsAreNamed) {
  const TextModel model = open_model("generate/model");
  Tensor bias = *model.store->get("transformer.ln_f.bias");
  bias.as<float>()[0] = std::numeric_limits<float>::quiet_NaN();
  ASSERT_TRUE(model.store->set("transformer.ln_f.bias", bias));
  const auto generator = make_generator(model);
  const auto failed = generate(*generator, std::vector<int32_t>{1}, {}, Key());
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().to_string().find("no numbers"), std::string::npos);
}

// The parameters of a training run, or averages beside them, as the weights change.
TEST(Generator, ReadsTheStoreAsItIs) {
  const TextModel model = open_model("generate/model");
  for (const std::string& name : model.store->names())
    ASSERT_TRUE(model.store->set(name + "#ema", *model.store->get(name)));
  const auto now = make_generator(model), average = make_generator(model, {.state_suffix = "#ema"});
  const std::vector<int32_t> prompt = {3, 4};
  const auto tokens = [&](Generator& g) {
    return generate(g, prompt, {.max_new_tokens = 20}, Key())->sequences[0].ids;
  };
  const std::vector<int32_t> before = tokens(*now);
  EXPECT_EQ(tokens(*average), before);
  Tensor table = *model.store->get("transformer.wpe.weight");
  for (float& x : table.as<float>()) x = -x;
  ASSERT_TRUE(model.store->set("transformer.wpe.weight", table));
  EXPECT_NE(tokens(*now), before);
  EXPECT_EQ(tokens(*average), before);
}

}  // namespace
}  // namespace headwater
