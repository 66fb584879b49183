// Detection: dialect, family, sizes and roles of tensors from names and shapes; what a config.json
// that says otherwise gives.
#include "models/detect.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/threefry.h"
#include "io/file.h"

namespace headwater {
namespace {

using Role = DetectedTensor::Role;

struct Rename {
  NameDialect dialect;
  NameFamily family;
  std::string scope = {};  // of the pair
  bool moments = false;
};

// The tensors of a checkpoint of `model` in a dialect.
void append_tensors(const Model& model, const Rename& rename, std::vector<NamedShape>& tensors) {
  const auto types = parameter_types(model);
  ASSERT_TRUE(types) << types.error().to_string();
  const NameRules rules(rename.family);
  for (const ParameterType& p : types->parameters) {
    for (const char* slot : {"", "#adam_m", "#adam_v"}) {
      if (*slot != 0 && !rename.moments) continue;
      const std::string name = rename.scope + p.name + slot;
      if (rename.dialect != NameDialect::kTensorFlow) {
        tensors.push_back({name, p.type.shape});
        continue;
      }
      const auto tf = rules.to_tf(name);
      ASSERT_TRUE(tf) << name;
      tensors.push_back({tf->name, *tf_shape(*tf, p.type.shape)});
    }
  }
}

std::vector<NamedShape> tensors_of(const Model& model, const Rename& rename) {
  std::vector<NamedShape> tensors;
  append_tensors(model, rename, tensors);
  return tensors;
}

DetectedCheckpoint detect(const std::vector<NamedShape>& tensors) {
  auto detected = detect_checkpoint(tensors, "model.ckpt");
  if (!detected) throw std::runtime_error(detected.error().to_string());
  return *std::move(detected);
}

std::string error_of(const std::vector<NamedShape>& tensors) {
  const auto detected = detect_checkpoint(tensors, "model.ckpt");
  return detected ? "no error" : detected.error().to_string();
}

ElectraConfig electra(int64_t embedding, int64_t hidden, int64_t layers = 2) {
  ElectraConfig c;
  c.vocab_size = 350;
  c.embedding_size = embedding;
  c.hidden_size = hidden;
  c.num_hidden_layers = layers;
  c.num_attention_heads = hidden / 64;
  c.intermediate_size = 4 * hidden;
  return c;
}

std::vector<Model> single_models() {
  BertConfig bert;
  bert.vocab_size = 300, bert.hidden_size = 128, bert.num_hidden_layers = 11;
  bert.num_attention_heads = 2, bert.intermediate_size = 512, bert.type_vocab_size = 3;
  Gpt2Config gpt2;
  gpt2.vocab_size = 400, gpt2.n_embd = 192, gpt2.n_layer = 3, gpt2.n_head = 3;
  gpt2.n_positions = 77;
  Gpt2Config wide = gpt2;
  wide.n_inner = 100;
  std::vector<Model> models;
  for (const Architecture architecture :
       {Architecture::kBertModel, Architecture::kBertForMaskedLM, Architecture::kBertForPreTraining,
        Architecture::kBertForSequenceClassification, Architecture::kBertForTokenClassification,
        Architecture::kBertForQuestionAnswering})
    models.push_back({architecture, bert, {}});
  models.push_back({Architecture::kGpt2LMHeadModel, gpt2, {}});
  models.push_back({Architecture::kGpt2LMHeadModel, wide, {}});
  for (const ElectraConfig& c : {electra(128, 128), electra(64, 256)}) {
    for (const Architecture architecture :
         {Architecture::kElectraForPreTraining, Architecture::kElectraForMaskedLM,
          Architecture::kElectraForSequenceClassification,
          Architecture::kElectraForTokenClassification, Architecture::kElectraForQuestionAnswering})
      models.push_back({architecture, c, {}});
  }
  for (Model& model : models) {
    if (has_labels(model.architecture)) model.classifier.num_labels = 44;
  }
  return models;
}

NameFamily family_of(Architecture architecture) {
  if (model_type(architecture) == "gpt2") return NameFamily::kGpt2;
  if (model_type(architecture) == "bert") return NameFamily::kBert;
  if (architecture == Architecture::kElectraForMaskedLM) return NameFamily::kElectraGenerator;
  const bool downstream =
      has_labels(architecture) || architecture == Architecture::kElectraForQuestionAnswering;
  return downstream ? NameFamily::kElectraClassifier : NameFamily::kElectraDiscriminator;
}

// Other keys are how the sizes came: not part of what is compared.
Model without_other_keys(Model model) {
  std::visit([](auto& c) { c.other_keys = "{}"; }, model.config);
  return model;
}

// Every parameter of the model is there, in its shape, and nothing else.
void expect_whole(const DetectedCheckpoint& found, const DetectedNetwork& network) {
  const NetworkTensors tensors = network_tensors(found, network.scope);
  const auto types = parameter_types(network.model);
  EXPECT_EQ(tensors.size(), types->parameters.size());
  for (const ParameterType& p : types->parameters) {
    ASSERT_TRUE(tensors.contains(p.name)) << p.name;
    EXPECT_EQ(tensors.find(p.name)->second->shape, p.type.shape) << p.name;
  }
}

TEST(Detect, EveryModelInEveryDialect) {
  for (const Model& model : single_models()) {
    for (const NameDialect dialect : {NameDialect::kTensorFlow, NameDialect::kHuggingFace}) {
      SCOPED_TRACE(
          fmt::format("{} {}", architecture_name(model.architecture), dialect_name(dialect)));
      const NameFamily family = family_of(model.architecture);
      auto tensors = tensors_of(model, {dialect, family});
      std::ranges::reverse(tensors);  // no order is needed
      const DetectedCheckpoint found = detect(tensors);
      EXPECT_EQ(found.dialect, dialect);
      EXPECT_EQ(found.family, family);
      EXPECT_FALSE(found.slots);
      EXPECT_TRUE(found.unknown().empty());
      ASSERT_EQ(found.networks.size(), 1u);
      EXPECT_EQ(without_other_keys(found.networks[0].model), model);
      EXPECT_TRUE(found.networks[0].heads_assumed);
      expect_whole(found, found.networks[0]);
      for (size_t i = 0; i < tensors.size(); ++i) {
        EXPECT_EQ(found.tensors[i].name, tensors[i].name);
        EXPECT_EQ(found.tensors[i].role, Role::kParameter);
      }
    }
  }
}

TEST(Detect, MomentsStepsAndWhatIsUnknown) {
  const Model model = single_models()[2];
  auto tensors = tensors_of(model, {NameDialect::kTensorFlow, NameFamily::kBert, "", true});
  tensors.push_back({"global_step", {}});
  tensors.push_back({"bert/encoder/layer_0/adapter/kernel", {3, 4}});
  const DetectedCheckpoint found = detect(tensors);
  EXPECT_EQ(found.slots, SlotStyle::kAdamWeightDecay);
  EXPECT_EQ(found.unknown(), std::vector<std::string>{"bert/encoder/layer_0/adapter/kernel"});
  const auto count = [&](Role role) {
    return std::ranges::count(found.tensors, role, &DetectedTensor::role);
  };
  EXPECT_EQ(count(Role::kMoment), 2 * count(Role::kParameter));
  EXPECT_EQ(count(Role::kStep), 1);
  EXPECT_EQ(without_other_keys(found.networks[0].model), model);
}

TEST(Detect, PublishedSpellings) {
  const std::vector<Model> models = single_models();
  const Model& model =
      *std::ranges::find(models, Architecture::kGpt2LMHeadModel, &Model::architecture);
  auto tensors = tensors_of(model, {NameDialect::kHuggingFace, NameFamily::kGpt2});
  for (NamedShape& tensor : tensors) tensor.name = tensor.name.substr(sizeof("transformer.") - 1);
  tensors.push_back({"h.0.attn.bias", {1, 1, 77, 77}});
  tensors.push_back({"lm_head.weight", {400, 192}});
  const DetectedCheckpoint found = detect(tensors);
  EXPECT_EQ(found.family, NameFamily::kGpt2);
  EXPECT_EQ(without_other_keys(found.networks[0].model), model);
  EXPECT_EQ(found.tensors[0].canonical, "transformer.wte.weight");
  EXPECT_EQ(found.tensors[tensors.size() - 2].role, Role::kBuffer);
  EXPECT_EQ(found.tensors.back().role, Role::kTied);
}

// The tables of a pair's generator are the discriminator's, unless it has its own.
std::vector<NamedShape> pair_tensors(const ElectraConfig& disc, const ElectraConfig& gen,
                                     NameDialect dialect, bool own_tables) {
  std::vector<NamedShape> tensors;
  append_tensors({Architecture::kElectraForPreTraining, disc, {}},
                 {dialect, NameFamily::kElectraPair, "discriminator.", true}, tensors);
  std::vector<NamedShape> generator;
  append_tensors({Architecture::kElectraForMaskedLM, gen, {}},
                 {dialect, NameFamily::kElectraPair, "generator.", true}, generator);
  for (NamedShape& tensor : generator) {
    const bool is_table = tensor.name.find("generator/embeddings/") != std::string::npos ||
                          tensor.name.find("generator.electra.embeddings.") != std::string::npos;
    if (own_tables || !is_table) tensors.push_back(std::move(tensor));
  }
  return tensors;
}

TEST(Detect, ThePair) {
  for (const NameDialect dialect : {NameDialect::kTensorFlow, NameDialect::kNative}) {
    for (const bool own_tables : {false, true}) {
      SCOPED_TRACE(fmt::format("{} {}", dialect_name(dialect), own_tables));
      const ElectraConfig disc = electra(192, 192), gen = electra(own_tables ? 64 : 192, 64, 1);
      const DetectedCheckpoint found = detect(pair_tensors(disc, gen, dialect, own_tables));
      EXPECT_EQ(found.dialect, dialect);
      EXPECT_EQ(found.family, NameFamily::kElectraPair);
      EXPECT_TRUE(found.unknown().empty());
      ASSERT_EQ(found.networks.size(), 2u);
      EXPECT_EQ(found.networks[0].scope, "discriminator.");
      EXPECT_EQ(without_other_keys(found.networks[0].model),
                (Model{Architecture::kElectraForPreTraining, disc, {}}));
      EXPECT_EQ(found.networks[1].scope, "generator.");
      EXPECT_EQ(without_other_keys(found.networks[1].model),
                (Model{Architecture::kElectraForMaskedLM, gen, {}}));
      for (const DetectedNetwork& network : found.networks) expect_whole(found, network);
    }
  }
}

// KoELECTRA-Base v3 as its checkpoint has it: 400 variables of 122,830,009 values.
TEST(Detect, KoElectraBase) {
  ElectraConfig disc = electra(768, 768, 12), gen = electra(768, 256, 12);
  disc.vocab_size = gen.vocab_size = 35000;
  auto tensors = pair_tensors(disc, gen, NameDialect::kTensorFlow, false);
  std::erase_if(tensors, [](const NamedShape& t) { return t.name.find("/adam_") != t.name.npos; });
  int64_t values = 0;
  for (const NamedShape& tensor : tensors) values += element_count(tensor.shape);
  EXPECT_EQ(tensors.size(), 400u);
  EXPECT_EQ(values, 122830009);
  const DetectedCheckpoint found = detect(tensors);
  ASSERT_EQ(found.networks.size(), 2u);
  EXPECT_EQ(std::get<ElectraConfig>(found.networks[0].model.config).num_attention_heads, 12);
  EXPECT_EQ(std::get<ElectraConfig>(found.networks[1].model.config).num_attention_heads, 4);
}

// A masked language model trained by google's ELECTRA: the encoder is under electra/, the head is
// the generator's.
TEST(Detect, OneEncoderWithTheGeneratorsHead) {
  const ElectraConfig config = electra(64, 128);
  std::vector<NamedShape> tensors;
  append_tensors({Architecture::kElectraForPreTraining, config, {}},
                 {NameDialect::kTensorFlow, NameFamily::kElectraPair, "discriminator."}, tensors);
  std::erase_if(tensors, [](const NamedShape& t) {
    return t.name.starts_with("discriminator_predictions/");
  });
  tensors.push_back({"generator_predictions/dense/kernel", {128, 64}});
  tensors.push_back({"generator_predictions/output_bias", {350}});
  const DetectedCheckpoint found = detect(tensors);
  ASSERT_EQ(found.networks.size(), 1u);
  EXPECT_EQ(without_other_keys(found.networks[0].model),
            (Model{Architecture::kElectraForMaskedLM, config, {}}));
}

TEST(Detect, ConfigDecidesWhatCannotBeSeen) {
  Model model = single_models()[1];
  auto& config = std::get<BertConfig>(model.config);
  config.num_attention_heads = 4, config.hidden_act = "gelu_new";
  const DetectedCheckpoint found =
      detect(tensors_of(model, {NameDialect::kTensorFlow, NameFamily::kBert}));
  const auto agreed = reconcile(found.networks[0], model.to_hf_json(), "config.json", "model.ckpt");
  ASSERT_TRUE(agreed) << agreed.error().to_string();
  EXPECT_EQ(without_other_keys(*agreed), without_other_keys(model));
}

TEST(Detect, ContradictingConfigsAreNamed) {
  Model model{Architecture::kElectraForPreTraining, electra(192, 192), {}};
  const DetectedCheckpoint found =
      detect(tensors_of(model, {NameDialect::kTensorFlow, NameFamily::kElectraDiscriminator}));
  auto& config = std::get<ElectraConfig>(model.config);
  config.embedding_size = 128, config.num_hidden_layers = 12;
  const auto wrong = reconcile(found.networks[0], model.to_hf_json(), "config.json", "model.ckpt");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().to_string(),
            "config.json contradicts model.ckpt: embedding_size is 128 there, but "
            "electra/embeddings/word_embeddings [350, 192] says 192; num_hidden_layers is 12 "
            "there, but electra/encoder/layer_1/attention/output/LayerNorm/beta [192] says 2; "
            "leave the config out to take the sizes from the weights");
  const auto other =
      reconcile(found.networks[0], Model{}.to_hf_json(), "config.json", "model.ckpt");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().to_string(),
            "config.json is of a bert model, model.ckpt of a electra model");
}

TEST(Detect, WhatIsNoModelSaysWhy) {
  EXPECT_NE(error_of({}).find("model.ckpt holds no model that is known: it is empty"),
            std::string::npos);
  EXPECT_NE(error_of({{"conv1/weights", {3, 3, 3, 64}}}).find("its first tensor is conv1/weights"),
            std::string::npos);
  const auto bert = tensors_of(single_models()[1], {NameDialect::kTensorFlow, NameFamily::kBert});
  for (const char* removed :
       {"bert/embeddings/word_embeddings", "bert/embeddings/position_embeddings",
        "bert/encoder/layer_0/intermediate/dense/kernel"}) {
    auto tensors = bert;
    std::erase_if(tensors, [&](const NamedShape& t) { return t.name == removed; });
    EXPECT_NE(error_of(tensors).find("model.ckpt lacks"), std::string::npos) << error_of(tensors);
  }
  auto tensors = bert;
  tensors[0].shape = {30522};
  EXPECT_NE(error_of(tensors).find("not a matrix"), std::string::npos);
  tensors = bert;
  tensors[0].shape = {int64_t{1} << 40, 128};
  EXPECT_NE(error_of(tensors).find("vocab_size"), std::string::npos);
  tensors = bert;
  tensors.push_back({"bert/encoder/layer_99999999/output/dense/bias", {128}});
  EXPECT_NE(error_of(tensors).find("num_hidden_layers"), std::string::npos);
  tensors.back().name = "bert/encoder/layer_99999999999999999999999/output/dense/bias";
  EXPECT_EQ(error_of(tensors), "no error");  // no number that a layer can have: not a layer
}

// Any names and shapes give a result or an error.
TEST(Detect, DamagedListsDoNoHarm) {
  const auto models = single_models();
  std::vector<std::vector<NamedShape>> lists;
  for (const Model& model : models) {
    for (const NameDialect dialect : {NameDialect::kTensorFlow, NameDialect::kHuggingFace})
      lists.push_back(tensors_of(model, {dialect, family_of(model.architecture)}));
  }
  lists.push_back(
      pair_tensors(electra(128, 128), electra(128, 64), NameDialect::kTensorFlow, false));
  const Key key = Key::from_seed(11);
  for (uint32_t trial = 0; trial < 300; ++trial) {
    uint64_t draw = uint64_t{trial} * 64;
    const auto below = [&](size_t n) { return key.bits(draw++) % n; };
    std::vector<NamedShape> tensors = lists[below(lists.size())];
    for (size_t change = 0; change < 1 + below(6); ++change) {
      NamedShape& tensor = tensors[below(tensors.size())];
      switch (below(5)) {
        case 0: tensor.name.resize(below(tensor.name.size() + 1)); break;
        case 1: tensor.shape.assign(below(4), static_cast<int64_t>(below(5))); break;
        case 2:
          if (!tensor.shape.empty()) tensor.shape[0] = INT64_MAX - static_cast<int64_t>(below(3));
          break;
        case 3:
          if (!tensor.name.empty())
            tensor.name[below(tensor.name.size())] = static_cast<char>(below(256));
          break;
        default: tensor.name = lists[below(lists.size())].front().name; break;
      }
    }
    const auto found = detect_checkpoint(tensors, "damaged");
    if (!found) {
      EXPECT_FALSE(found.error().to_string().empty());
    }
  }
}

}  // namespace
}  // namespace headwater
