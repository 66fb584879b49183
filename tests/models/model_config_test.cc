// config.json of BERT and GPT-2 in and out, classifiers, architectures by name, and what a model's
// parameters are.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "models/model.h"

namespace headwater {
namespace {

Json bert_base() {
  return Json::parse(R"({"architectures": ["BertForMaskedLM"], "attention_probs_dropout_prob": 0.1,
    "classifier_dropout": null, "hidden_act": "gelu", "hidden_dropout_prob": 0.2,
    "hidden_size": 768, "initializer_range": 0.02, "intermediate_size": 3072,
    "layer_norm_eps": 1e-12, "max_position_embeddings": 512, "model_type": "bert",
    "num_attention_heads": 12, "num_hidden_layers": 12, "pad_token_id": 0, "type_vocab_size": 2,
    "use_cache": true, "vocab_size": 30522})");
}

Json gpt2_small() {
  return Json::parse(R"({"activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"],
    "attn_pdrop": 0.1, "bos_token_id": 50256, "embd_pdrop": 0.1, "eos_token_id": 50256,
    "initializer_range": 0.02, "layer_norm_epsilon": 1e-05, "model_type": "gpt2", "n_ctx": 1024,
    "n_embd": 768, "n_head": 12, "n_layer": 12, "n_positions": 1024, "resid_pdrop": 0.1,
    "summary_type": "cls_index", "vocab_size": 50257})");
}

std::string error_of(const Json& object) {
  const auto model = Model::from_hf_json(object, "config.json");
  return model ? "no error" : model.error().to_string();
}

Model read(const Json& object) {
  const auto model = Model::from_hf_json(object, "config.json");
  if (!model) throw std::runtime_error(model.error().to_string());
  return *model;
}

TEST(ModelConfig, ReadsAndKeepsWhatItDoesNotKnow) {
  for (const Json& json : {bert_base(), gpt2_small()}) {
    const Model model = read(json);
    const Json written = model.to_hf_json();
    for (const auto& [key, value] : json.items()) EXPECT_EQ(written[key], value) << key;
    EXPECT_EQ(read(written), model);
  }
  const Model bert = read(bert_base());
  EXPECT_EQ(bert.max_positions(), 512);
  EXPECT_TRUE(bert.has_token_types());
  const Model gpt2 = read(gpt2_small());
  EXPECT_EQ(std::get<Gpt2Config>(gpt2.config).inner_size(), 3072);
  EXPECT_TRUE(gpt2.to_hf_json()["n_inner"].is_null());
  EXPECT_EQ(gpt2.vocab_size(), 50257);
  EXPECT_EQ(gpt2.max_positions(), 1024);
  EXPECT_FALSE(gpt2.has_token_types());
}

TEST(ModelConfig, WrongFilesSayWhy) {
  const auto changed = [](Json object, const char* key, const Json& value) {
    object[key] = value;
    return error_of(object);
  };
  EXPECT_EQ(changed(bert_base(), "num_attention_heads", 7),
            "config.json: hidden_size 768 is not a multiple of num_attention_heads 7");
  EXPECT_EQ(changed(gpt2_small(), "n_head", 5),
            "config.json: n_embd 768 is not a multiple of n_head 5");
  EXPECT_EQ(changed(bert_base(), "is_decoder", true),
            "config.json: is_decoder true is not supported");
  EXPECT_EQ(changed(gpt2_small(), "scale_attn_by_inverse_layer_idx", true),
            "config.json: scale_attn_by_inverse_layer_idx true is not supported");
  EXPECT_EQ(changed(bert_base(), "hidden_act", "relu"),
            "config.json: \"hidden_act\" must be one of gelu, gelu_new, gelu_pytorch_tanh, got "
            "'relu'");
  EXPECT_EQ(changed(bert_base(), "model_type", "gpt2"),
            "config.json: model_type is \"gpt2\", not \"bert\"");
  EXPECT_NE(changed(bert_base(), "architectures", Json::array({"T5Model"}))
                .find("the architecture \"T5Model\" is not supported"),
            std::string::npos);
  Json lacking = gpt2_small();
  lacking.erase("n_layer");
  EXPECT_EQ(error_of(lacking), "config.json: no \"n_layer\"; write the size the weights have");
  EXPECT_EQ(error_of(Json::array()), "config.json is not a JSON object");
  EXPECT_NE(error_of(Json::object()).find("names no architecture"), std::string::npos);
  EXPECT_NE(error_of({{"model_type", 3}}).find("names no architecture"), std::string::npos);
}

TEST(ModelConfig, ModelTypeAloneMeansThePreTrainingModel) {
  Json json = bert_base();
  json.erase("architectures");
  EXPECT_EQ(read(json).architecture, Architecture::kBertForMaskedLM);
  json = gpt2_small();
  json["architectures"] = nullptr;
  EXPECT_EQ(read(json).architecture, Architecture::kGpt2LMHeadModel);
}

TEST(ModelConfig, EveryArchitectureIsFoundByItsName) {
  for (const char* name :
       {"ElectraForPreTraining", "ElectraForMaskedLM", "ElectraForSequenceClassification",
        "BertModel", "BertForMaskedLM", "BertForPreTraining", "BertForSequenceClassification",
        "GPT2LMHeadModel"}) {
    const auto found = find_architecture(name);
    ASSERT_TRUE(found) << name;
    EXPECT_EQ(architecture_name(*found), name);
  }
  EXPECT_FALSE(find_architecture("bertmodel"));
}

TEST(ClassifierConfig, ReadsLabelsProblemAndDropout) {
  Json json = bert_base();
  json["architectures"] = Json::array({"BertForSequenceClassification"});
  EXPECT_EQ(read(json).classifier,
            (ClassifierConfig{2, ClassifierConfig::Problem::kSingleLabel, 0.2}));
  json["id2label"] = {{"0", "불평"}, {"1", "환영"}, {"2", "neutral"}};
  json["problem_type"] = "multi_label_classification";
  json["classifier_dropout"] = 0.3;
  const Model model = read(json);
  EXPECT_EQ(model.classifier,
            (ClassifierConfig{
                3, ClassifierConfig::Problem::kMultiLabel, 0.3, {"불평", "환영", "neutral"}}));
  EXPECT_EQ(model.to_hf_json()["id2label"]["0"], "불평");
  EXPECT_EQ(read(model.to_hf_json()).classifier, model.classifier);
  json["id2label"] = {{"0", "score"}};
  json["problem_type"] = nullptr;
  EXPECT_EQ(read(json).classifier.problem, ClassifierConfig::Problem::kRegression);
}

TEST(ClassifierConfig, WritesLabelsOfItsOwnWhereTheNumberIsAnother) {
  Model model = read(bert_base());
  model.architecture = Architecture::kBertForSequenceClassification;
  model.classifier = {4, ClassifierConfig::Problem::kSingleLabel, 0.2};
  const Json written = model.to_hf_json();
  EXPECT_EQ(written["id2label"].size(), 4u);
  EXPECT_EQ(written["label2id"]["LABEL_3"], 3);
  EXPECT_EQ(written["problem_type"], "single_label_classification");
  EXPECT_EQ(read(written).classifier, model.classifier);
}

TEST(ClassifierConfig, WrongFilesSayWhy) {
  const auto changed = [](const char* key, const Json& value) {
    Json json = bert_base();
    json["architectures"] = Json::array({"BertForSequenceClassification"});
    json[key] = value;
    return error_of(json);
  };
  EXPECT_EQ(changed("id2label", Json::object()),
            "config.json: 0 labels; there must be 1 to 1048576");
  EXPECT_EQ(changed("num_labels", "two"), "config.json: num_labels \"two\" is not a whole number");
  EXPECT_EQ(changed("classifier_dropout", 1.5),
            "config.json: classifier_dropout 1.5 is no number from 0 to below 1");
  EXPECT_NE(changed("problem_type", "ranking").find("problem_type \"ranking\" is none of"),
            std::string::npos);
}

int64_t count_parameters(const Model& model) {
  const auto types = parameter_types(model);
  if (!types) throw std::runtime_error(types.error().to_string());
  int64_t count = 0;
  for (const ParameterType& p : types->parameters) count += p.type.size();
  return count;
}

// The sizes that are published, as transformers counts them (tied tables once).
TEST(ParameterTypes, CountsArePublishedOnes) {
  Model bert = read(bert_base());
  EXPECT_EQ(count_parameters(bert), 109514298);
  bert.architecture = Architecture::kBertForPreTraining;
  EXPECT_EQ(count_parameters(bert), 110106428);
  bert.architecture = Architecture::kBertModel;
  EXPECT_EQ(count_parameters(bert), 109482240);
  bert.architecture = Architecture::kBertForSequenceClassification;
  EXPECT_EQ(count_parameters(bert), 109483778);
  Model gpt2 = read(gpt2_small());
  EXPECT_EQ(count_parameters(gpt2), 124439808);
  auto& config = std::get<Gpt2Config>(gpt2.config);
  config.n_embd = 1600, config.n_layer = 48, config.n_head = 25;
  EXPECT_EQ(count_parameters(gpt2), 1557611200);
  ElectraConfig electra;
  electra.vocab_size = 35000;
  electra.embedding_size = electra.hidden_size = 768;
  electra.num_attention_heads = 12, electra.intermediate_size = 3072;
  EXPECT_EQ(count_parameters({Architecture::kElectraForPreTraining, electra, {}}),
            112330752 + 591361);
}

TEST(ParameterTypes, TiesAreAliasesUnlessUntied) {
  Model bert = read(bert_base());
  EXPECT_EQ(parameter_types(bert)->aliases.at("cls.predictions.decoder.weight"),
            "bert.embeddings.word_embeddings.weight");
  const int64_t tied = count_parameters(bert);
  std::get<BertConfig>(bert.config).tie_word_embeddings = false;
  EXPECT_FALSE(parameter_types(bert)->aliases.contains("cls.predictions.decoder.weight"));
  EXPECT_EQ(count_parameters(bert), tied + int64_t{30522} * 768);
  Model gpt2 = read(gpt2_small());
  EXPECT_EQ(parameter_types(gpt2)->aliases.at("lm_head.weight"), "transformer.wte.weight");
  std::get<Gpt2Config>(gpt2.config).tie_word_embeddings = false;
  EXPECT_EQ(parameter_types(gpt2)->parameters.back().name, "lm_head.weight");
}

// Hugging Face's first values: normal, the padding row zero, GPT-2's residual layers scaled down.
TEST(ParameterTypes, FirstValuesAreHuggingFaces) {
  const auto deviation = [](const Tensor& tensor) {
    double sum = 0;
    for (const float x : tensor.as<float>()) sum += double{x} * x;
    return std::sqrt(sum / static_cast<double>(tensor.size()));
  };
  const auto value_of = [](const Model& model, std::string_view name) {
    const auto types = parameter_types(model);
    for (const ParameterType& p : types->parameters) {
      if (p.name == name) return initial_value(p.name, p.type.shape, p.init, 1);
    }
    throw std::runtime_error("no such parameter");
  };
  Json json = bert_base();
  json["vocab_size"] = 500, json["num_hidden_layers"] = 1, json["pad_token_id"] = 3;
  const Tensor words = value_of(read(json), "bert.embeddings.word_embeddings.weight");
  EXPECT_NEAR(deviation(words), 0.02, 2e-4);
  for (size_t i = 0; i < 768; ++i) EXPECT_EQ(words.as<float>()[3 * 768 + i], 0.0f);
  EXPECT_NE(words.as<float>()[4 * 768], 0.0f);
  const Tensor positions = value_of(read(json), "bert.embeddings.position_embeddings.weight");
  EXPECT_NE(positions.as<float>()[3 * 768], 0.0f);
  json = gpt2_small();
  json["n_layer"] = 8, json["n_embd"] = 192, json["vocab_size"] = 100;
  const Model gpt2 = read(json);
  EXPECT_NEAR(deviation(value_of(gpt2, "transformer.h.7.mlp.c_fc.weight")), 0.02, 2e-4);
  EXPECT_NEAR(deviation(value_of(gpt2, "transformer.h.7.mlp.c_proj.weight")), 0.005, 5e-5);
  EXPECT_NEAR(deviation(value_of(gpt2, "transformer.h.0.attn.c_proj.weight")), 0.005, 1e-4);
}

}  // namespace
}  // namespace headwater
