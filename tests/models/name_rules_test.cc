// Name rules: every variable of five google ELECTRA configurations, of BERT-base and of GPT-2 round
// trips, and translated weights equal what Hugging Face's own converter made of them, bit for bit.
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

// Rows [TensorFlow name, shape, Hugging Face name, shape] of a whole model.
void check_full_list(NameFamily family, const std::string& file, size_t count) {
  const auto text = read_file(local_files(), golden(file));
  ASSERT_TRUE(text) << text.error().to_string();
  const auto json = parse_json(*text, file);
  ASSERT_TRUE(json) << json.error().to_string();
  EXPECT_EQ(json->size(), count);
  const NameRules rules(family);
  for (const Json& row : *json) {
    const auto tf = row[0].get<std::string>(), hf = row[2].get<std::string>();
    const auto shape = row[1].get<Shape>(), hf_shape = row[3].get<Shape>();
    const auto mapped = rules.from_tf(tf);
    ASSERT_TRUE(mapped) << tf;
    EXPECT_EQ(mapped->name, hf);
    const auto there = canonical_shape(*mapped, shape), back = tf_shape(*mapped, hf_shape);
    EXPECT_TRUE(there && *there == hf_shape) << tf;
    EXPECT_TRUE(back && *back == shape) << tf;
    const auto tf_again = rules.to_tf(hf);
    ASSERT_TRUE(tf_again) << hf;
    EXPECT_EQ(tf_again->name, tf);
    EXPECT_EQ(rules.from_hf(hf), (HfMapping{HfMapping::Kind::kParameter, hf}));
    for (const auto& [style, m, v] : {std::tuple(SlotStyle::kAdamWeightDecay, "/adam_m", "/adam_v"),
                                      std::tuple(SlotStyle::kLamb, "/lamb_m", "/lamb_v"),
                                      std::tuple(SlotStyle::kTfAdam, "/Adam", "/Adam_1")}) {
      for (const auto& [suffix, moment] : {std::pair(m, "#adam_m"), std::pair(v, "#adam_v")}) {
        const auto slot = rules.from_tf(tf + suffix);
        ASSERT_TRUE(slot) << tf << suffix;
        EXPECT_EQ(slot->name, hf + moment);
        EXPECT_EQ(slot->slots, style);
        EXPECT_EQ(slot->transpose, mapped->transpose);
        EXPECT_EQ(rules.to_tf(slot->name, style),
                  (TfMapping{tf + suffix, mapped->transpose, mapped->leading_axis, style}));
      }
    }
  }
}

TEST(NameRules, FullListsOfBertAndGpt2) {
  check_full_list(NameFamily::kBert, "bert_base.json", 206);
  check_full_list(NameFamily::kGpt2, "gpt2_small.json", 148);
}

TEST(NameRules, NamesOfTheFixtures) {
  const auto text =
      read_file(local_files(), std::string(HW_TESTS_DIR) + "/golden/models/tf1_names.json");
  ASSERT_TRUE(text) << text.error().to_string();
  const auto json = parse_json(*text, "tf1_names.json");
  for (const auto& [model, family] : {std::pair("tf1_bert_pretraining", NameFamily::kBert),
                                      std::pair("tf1_gpt2", NameFamily::kGpt2)}) {
    const NameRules rules(family);
    for (const auto& [tf, hf] : (*json)[model].items()) {
      ASSERT_TRUE(rules.from_tf(tf)) << tf;
      EXPECT_EQ(rules.from_tf(tf)->name, hf.get<std::string>());
    }
  }
}

TEST(NameRules, ClassifierHeads) {
  const NameRules bert(NameFamily::kBert), electra(NameFamily::kElectraClassifier);
  EXPECT_EQ(bert.from_tf("output_weights"), (TfMapping{"classifier.weight", false, false, {}}));
  EXPECT_EQ(bert.to_tf("classifier.bias"), (TfMapping{"output_bias", false, false, {}}));
  EXPECT_EQ(electra.from_tf("classifier/out_proj/kernel"),
            (TfMapping{"classifier.out_proj.weight", true, false, {}}));
  EXPECT_EQ(electra.to_tf("classifier.dense.bias"),
            (TfMapping{"classifier/dense/bias", false, false, {}}));
  EXPECT_FALSE(electra.from_tf("task_specific/nsmc/dense/kernel"));
  EXPECT_FALSE(electra.from_tf("discriminator_predictions/dense/kernel"));
}

TEST(NameRules, NetworksOfElectraAlone) {
  const NameRules discriminator(NameFamily::kElectraDiscriminator),
      generator(NameFamily::kElectraGenerator);
  EXPECT_EQ(discriminator.from_tf("discriminator_predictions/dense_1/kernel")->name,
            "discriminator_predictions.dense_prediction.weight");
  EXPECT_EQ(discriminator.from_tf("electra/encoder/layer_3/output/dense/kernel")->name,
            "electra.encoder.layer.3.output.dense.weight");
  EXPECT_FALSE(discriminator.from_tf("generator/encoder/layer_3/output/dense/kernel"));
  EXPECT_EQ(generator.from_tf("electra/embeddings/word_embeddings")->name,
            "electra.embeddings.word_embeddings.weight");
  EXPECT_EQ(generator.from_tf("generator/encoder/layer_3/output/dense/kernel")->name,
            "electra.encoder.layer.3.output.dense.weight");
  EXPECT_EQ(generator.to_tf("electra.embeddings_project.bias")->name,
            "generator/embeddings_project/bias");
  EXPECT_EQ(generator.to_tf("generator_lm_head.bias")->name, "generator_predictions/output_bias");
}

TEST(NameRules, OldSpellingsOfHuggingFace) {
  using Kind = HfMapping::Kind;
  const NameRules bert(NameFamily::kBert), gpt2(NameFamily::kGpt2);
  EXPECT_EQ(bert.from_hf("bert.embeddings.LayerNorm.gamma"),
            (HfMapping{Kind::kParameter, "bert.embeddings.LayerNorm.weight"}));
  EXPECT_EQ(bert.from_hf("cls.predictions.transform.LayerNorm.beta"),
            (HfMapping{Kind::kParameter, "cls.predictions.transform.LayerNorm.bias"}));
  EXPECT_EQ(bert.from_hf("encoder.layer.0.output.LayerNorm.gamma"),
            (HfMapping{Kind::kParameter, "bert.encoder.layer.0.output.LayerNorm.weight"}));
  EXPECT_EQ(bert.from_hf("bert.embeddings.position_ids"), (HfMapping{Kind::kBuffer, ""}));
  EXPECT_EQ(bert.from_hf("cls.predictions.decoder.weight"),
            (HfMapping{Kind::kTied, "bert.embeddings.word_embeddings.weight"}));
  EXPECT_EQ(gpt2.from_hf("h.11.attn.c_attn.weight"),
            (HfMapping{Kind::kParameter, "transformer.h.11.attn.c_attn.weight"}));
  EXPECT_EQ(gpt2.from_hf("h.11.attn.bias"), (HfMapping{Kind::kBuffer, ""}));
  EXPECT_EQ(gpt2.from_hf("transformer.h.0.attn.masked_bias"), (HfMapping{Kind::kBuffer, ""}));
  EXPECT_EQ(gpt2.from_hf("lm_head.weight"), (HfMapping{Kind::kTied, "transformer.wte.weight"}));
  for (const char* name : {"", "h.01.ln_1.weight", "h..ln_1.weight", "transformer.h.0.attn.c_attn",
                           "bert.embeddings.word_embeddings.weight", "lm_head.bias"}) {
    EXPECT_FALSE(gpt2.from_hf(name)) << name;
  }
}

TEST(NameRules, ShapesThatNoRuleFits) {
  const NameRules rules(NameFamily::kGpt2);
  const auto mapped = rules.from_tf("model/h0/mlp/c_fc/w");
  EXPECT_FALSE(canonical_shape(*mapped, {2, 3, 4}));
  EXPECT_FALSE(canonical_shape(*mapped, {3, 4}));
  EXPECT_FALSE(tf_shape(*mapped, {4}));
  EXPECT_FALSE(canonical_shape({"x", true, false, {}}, {4}));
}

TEST(NameRules, TransposesEveryElementSize) {
  for (const DType dtype : {DType::kU8, DType::kBF16, DType::kF32, DType::kF64}) {
    Tensor matrix(dtype, {37, 65});
    const auto size = static_cast<size_t>(dtype_size(dtype));
    for (size_t i = 0; i < matrix.bytes().size(); ++i)
      matrix.data()[i] = static_cast<uint8_t>(i * 31 + i / 251);
    const Tensor result = transposed(matrix);
    EXPECT_EQ(result.shape(), (Shape{65, 37}));
    for (size_t r = 0; r < 37; ++r) {
      for (size_t c = 0; c < 65; ++c) {
        EXPECT_TRUE(std::equal(matrix.data() + (r * 65 + c) * size,
                               matrix.data() + (r * 65 + c + 1) * size,
                               result.data() + (c * 37 + r) * size));
      }
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
