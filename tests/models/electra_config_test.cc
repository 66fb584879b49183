// config.json in and out: known keys, kept keys, and what a wrong file says.
#include "models/electra_config.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace headwater {
namespace {

Json koelectra_base() {
  return Json::parse(R"({"architectures": ["ElectraForPreTraining"],
    "attention_probs_dropout_prob": 0.1, "embedding_size": 768, "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1, "hidden_size": 768, "initializer_range": 0.02,
    "intermediate_size": 3072, "layer_norm_eps": 1e-12, "max_position_embeddings": 512,
    "model_type": "electra", "num_attention_heads": 12, "num_hidden_layers": 12,
    "pad_token_id": 0, "summary_type": "first", "type_vocab_size": 2, "vocab_size": 35000,
    "tokenizer_class": null, "새_열쇠": {"a": [1, 2.5]}})");
}

std::string error_of(const Json& object) {
  const auto config = ElectraConfig::from_hf_json(object, "config.json");
  return config ? "no error" : config.error().to_string();
}

TEST(ElectraConfig, ReadsAndKeepsWhatItDoesNotKnow) {
  const auto config = ElectraConfig::from_hf_json(koelectra_base(), "config.json");
  ASSERT_TRUE(config) << config.error().to_string();
  EXPECT_EQ(config->hidden_size, 768);
  EXPECT_EQ(config->vocab_size, 35000);
  EXPECT_EQ(config->layer_norm_eps, 1e-12);
  const Json written = config->to_hf_json("ElectraForMaskedLM");
  EXPECT_EQ(written["architectures"], Json::array({"ElectraForMaskedLM"}));
  EXPECT_EQ(written["summary_type"], "first");
  EXPECT_EQ(written["새_열쇠"]["a"][1], 2.5);
  EXPECT_TRUE(written["tokenizer_class"].is_null());
  EXPECT_EQ(written["intermediate_size"], 3072);
  EXPECT_EQ(ElectraConfig::from_hf_json(written, "again")->to_hf_json("ElectraForMaskedLM"),
            written);
}

TEST(ElectraConfig, WrongFilesSayWhy) {
  const auto changed = [](const char* key, const Json& value) {
    Json object = koelectra_base();
    object[key] = value;
    return error_of(object);
  };
  EXPECT_EQ(changed("model_type", "bert"), "config.json: model_type is \"bert\", not \"electra\"");
  EXPECT_EQ(changed("hidden_size", "wide"),
            "config.json: \"hidden_size\" wants a whole number, got 'wide'");
  EXPECT_EQ(changed("num_attention_heads", 7),
            "config.json: hidden_size 768 is not a multiple of num_attention_heads 7");
  EXPECT_EQ(changed("vocab_size", 1e12),
            "config.json: \"vocab_size\" must be at least 1 and at most 16777216, got "
            "1000000000000.0");
  EXPECT_EQ(changed("hidden_act", "relu"),
            "config.json: \"hidden_act\" must be one of gelu, got 'relu'");
  EXPECT_EQ(changed("position_embedding_type", "relative_key"),
            "config.json: position_embedding_type \"relative_key\" is not supported");
  Json lacking = koelectra_base();
  lacking.erase("embedding_size");
  EXPECT_EQ(error_of(lacking),
            "config.json: no \"embedding_size\"; write the size the weights have");
  EXPECT_EQ(error_of(Json::array()), "config.json is not a JSON object");
}

}  // namespace
}  // namespace headwater
