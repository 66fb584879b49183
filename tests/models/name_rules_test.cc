// Name rules: every variable of five google ELECTRA configurations round trips, and translated
// weights equal what Hugging Face's own converter made of them, bit for bit.
#include "models/name_rules.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

#include "base/json.h"
#include "checkpoints/safetensors.h"

namespace headwater {
namespace {

std::string golden(const std::string& name) {
  return std::string(HW_TESTS_DIR) + "/golden/tf1_names/" + name;
}

std::vector<std::string> names_of(const std::string& file) {
  const auto text = read_file(local_files(), golden(file));
  EXPECT_TRUE(text) << text.error().to_string();
  const auto json = parse_json(*text, file);
  EXPECT_TRUE(json);
  std::vector<std::string> names;
  for (const auto& name : *json) names.push_back(name.get<std::string>());
  return names;
}

TEST(NameRules, EveryVariableOfTheConfigurationsRoundTrips) {
  const std::vector<std::pair<std::string, size_t>> lists = {{"small.json", 247},
                                                             {"base.json", 241},
                                                             {"untied_embeddings.json", 250},
                                                             {"tied_all.json", 139},
                                                             {"mlm.json", 127}};
  for (const auto& [file, count] : lists) {
    std::set<std::string> seen;
    const auto names = names_of(file);
    EXPECT_EQ(names.size(), count);
    for (const std::string& name : names) {
      const auto mapped = canonical_from_tf(name);
      if (name == "global_step") {
        EXPECT_FALSE(mapped);
        continue;
      }
      ASSERT_TRUE(mapped) << name;
      EXPECT_TRUE(seen.insert(mapped->name).second) << mapped->name << " twice";
      EXPECT_EQ(mapped->transpose, name.find("/kernel") != std::string::npos) << name;
      const auto back = tf_from_canonical(mapped->name);
      ASSERT_TRUE(back) << mapped->name;
      EXPECT_EQ(back->name, name);
      EXPECT_EQ(back->transpose, mapped->transpose);
    }
  }
}

TEST(NameRules, GivesHuggingFaceNamesUnderScopes) {
  const std::vector<std::pair<std::string, std::string>> pairs = {
      {"electra/embeddings/word_embeddings",
       "discriminator.electra.embeddings.word_embeddings.weight"},
      {"electra/embeddings/LayerNorm/gamma", "discriminator.electra.embeddings.LayerNorm.weight"},
      {"electra/embeddings_project/kernel", "discriminator.electra.embeddings_project.weight"},
      {"electra/encoder/layer_11/attention/self/query/kernel",
       "discriminator.electra.encoder.layer.11.attention.self.query.weight"},
      {"electra/encoder/layer_0/attention/output/LayerNorm/beta/adam_v",
       "discriminator.electra.encoder.layer.0.attention.output.LayerNorm.bias#adam_v"},
      {"discriminator_predictions/dense/bias",
       "discriminator.discriminator_predictions.dense.bias"},
      {"discriminator_predictions/dense_1/kernel",
       "discriminator.discriminator_predictions.dense_prediction.weight"},
      {"generator/embeddings_project/bias", "generator.electra.embeddings_project.bias"},
      {"generator/embeddings/token_type_embeddings",
       "generator.electra.embeddings.token_type_embeddings.weight"},
      {"generator_predictions/LayerNorm/gamma", "generator.generator_predictions.LayerNorm.weight"},
      {"generator_predictions/output_bias", "generator.generator_lm_head.bias"},
      {"generator_predictions/output_bias/adam_m", "generator.generator_lm_head.bias#adam_m"},
  };
  for (const auto& [tf, canonical] : pairs) {
    ASSERT_TRUE(canonical_from_tf(tf)) << tf;
    EXPECT_EQ(canonical_from_tf(tf)->name, canonical);
    ASSERT_TRUE(tf_from_canonical(canonical)) << canonical;
    EXPECT_EQ(tf_from_canonical(canonical)->name, tf);
  }
}

TEST(NameRules, LeavesForeignNamesAlone) {
  for (const char* name :
       {"", "global_step", "temperature", "bert/encoder/layer_0/output/dense/kernel",
        "generator_ltr/encoder/layer_0/output/dense/kernel", "electra", "electra/",
        "electra/kernel", "electra//kernel", "electra/encoder/layer_/output/dense/kernel",
        "electra/encoder/layer_01/output/dense/kernel", "electra/encoder/layer/dense/kernel",
        "electra/embeddings/LayerNorm/kernel", "electra/embeddings/dense/gamma",
        "electra/embeddings/word_embeddings/kernel", "electra/encoder.layer/dense/kernel",
        "electra/embeddings/word_embeddings/adam_w"}) {
    EXPECT_FALSE(canonical_from_tf(name)) << name;
  }
  for (const char* name :
       {"", "electra.embeddings.word_embeddings.weight", "discriminator.electra.weight",
        "discriminator.electra.encoder.layer_0.output.dense.weight",
        "discriminator.electra.encoder.layer.output.dense.weight",
        "discriminator.electra.embeddings.word_embeddings.bias",
        "discriminator.electra.embeddings.word_embeddings.gamma",
        "generator.generator_lm_head.weight", "discriminator.electra.encoder/x.dense.weight"}) {
    EXPECT_FALSE(tf_from_canonical(name)) << name;
  }
}

// What a Hugging Face model of one network must hold, from training names.
TensorMap expected_network(const TensorMap& canonical, const std::string& scope) {
  TensorMap network;
  for (const auto& [name, tensor] : canonical) {
    if (name.starts_with(scope)) network.emplace(name.substr(scope.size()), tensor);
    const std::string shared = "discriminator.electra.embeddings.";
    if (scope == "generator." && name.starts_with(shared))
      network.emplace("electra.embeddings." + name.substr(shared.size()), tensor);
  }
  return network;
}

TEST(NameRules, TranslatedWeightsEqualTheHuggingFaceConverters) {
  for (const char* model : {"small", "base"}) {
    const char* shared = std::getenv("HW_SHARED");
    const std::string root =
        (shared != nullptr ? shared : std::string(HW_TESTS_DIR) + "/../../shared") +
        "/fixtures/models/tf1_electra_" + model + "_expected";
    if (!local_files().exists(root)) GTEST_SKIP() << root << " is not here (set HW_SHARED)";
    const auto tf = read_safetensors(local_files(), root + "/after3.safetensors");
    ASSERT_TRUE(tf) << tf.error().to_string();
    TensorMap canonical;
    for (const NamedTensor& named : *tf) {
      const auto mapped = canonical_from_tf(named.name);
      if (!mapped || mapped->name.find('#') != std::string::npos) continue;
      canonical.emplace(mapped->name, mapped->transpose ? transposed(named.tensor) : named.tensor);
    }
    for (const std::string network : {"discriminator", "generator"}) {
      const auto hf =
          read_safetensors_map(local_files(), root + "/hf_" + network + "/model.safetensors");
      ASSERT_TRUE(hf) << hf.error().to_string();
      const TensorMap ours = expected_network(canonical, network + ".");
      EXPECT_EQ(ours.size(), hf->size());
      for (const auto& [name, tensor] : *hf) {
        ASSERT_TRUE(ours.contains(name)) << network << " lacks " << name;
        EXPECT_EQ(ours.at(name).shape(), tensor.shape()) << name;
        EXPECT_TRUE(std::ranges::equal(ours.at(name).bytes(), tensor.bytes())) << name;
      }
    }
  }
}

}  // namespace
}  // namespace headwater
