// The recorded models (tests/golden/models/make_models.py, make_heads.py) on an executor, with the
// inputs of their record fed and one run done.
#pragma once

#include <nlohmann/json.hpp>

#include "io/file.h"
#include "models/model_run.h"

namespace headwater {

constexpr const char* kGoldenModels[] = {
    "bert_mlm",          "bert_pretraining",  "gpt2_lm",           "electra_small_disc",
    "electra_base_disc", "electra_small_gen", "electra_base_gen",  "electra_seqcls_multilabel",
    "electra_tokens",    "bert_tokens",       "electra_questions", "bert_questions"};

inline std::string golden_model_folder(const std::string& name) {
  return std::string(HW_TESTS_DIR) + "/golden/models/" + name;
}

inline Model read_golden_model(const std::string& name) {
  const std::string path = golden_model_folder(name) + "/config.json";
  const auto text = read_file(local_files(), path);
  if (!text) throw std::runtime_error(text.error().to_string());
  auto model = Model::from_hf_json(*parse_json(*text, path), path);
  if (!model) throw std::runtime_error(model.error().to_string());
  return *std::move(model);
}

inline TensorMap read_reference(const std::string& name) {
  auto reference =
      read_safetensors_map(local_files(), golden_model_folder(name) + "/reference.safetensors");
  if (!reference) throw std::runtime_error(reference.error().to_string());
  return *std::move(reference);
}

// int64 as recorded to the graph's i32; f32 stays.
inline Tensor as_fed(const Tensor& tensor) {
  if (tensor.dtype() != DType::kI64) return tensor;
  std::vector<int32_t> values;
  for (const int64_t v : tensor.as<int64_t>()) values.push_back(static_cast<int32_t>(v));
  return Tensor::i32(tensor.shape(), values);
}

inline std::unique_ptr<ModelRun> run_golden_model(const std::string& name,
                                                  const TensorMap& reference,
                                                  const std::string& device = "cpu") {
  FedInputs fed;
  fed.token_type_ids = reference.contains("input/token_type_ids");
  fed.next_sentence_label = reference.contains("input/next_sentence_label");
  const Shape& shape = reference.at("input/input_ids").shape();
  auto run = std::make_unique<ModelRun>(read_golden_model(name), shape[0], shape[1], fed, device);
  for (const auto& [key, tensor] : reference) {
    if (key.starts_with("model/")) run->set(key.substr(6), tensor);
    if (key.starts_with("input/")) run->feed(key.substr(6), as_fed(tensor));
  }
  run->run();
  return run;
}

}  // namespace headwater
