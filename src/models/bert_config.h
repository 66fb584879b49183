// Sizes of one BERT model (Devlin et al. 2019), under the names of Hugging Face's config.json.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/described.h"
#include "base/error.h"
#include "base/json.h"

namespace headwater {

struct BertConfig {
  int64_t vocab_size = 30522;
  int64_t hidden_size = 768;
  int64_t num_hidden_layers = 12;
  int64_t num_attention_heads = 12;  // divides hidden_size
  int64_t intermediate_size = 3072;
  int64_t max_position_embeddings = 512;
  int64_t type_vocab_size = 2;
  int64_t pad_token_id = 0;
  double hidden_dropout_prob = 0.1;
  double attention_probs_dropout_prob = 0.1;
  double initializer_range = 0.02;
  double layer_norm_eps = 1e-12;
  std::string hidden_act = "gelu";  // the erf form; gelu_new, gelu_pytorch_tanh: the tanh form
  bool tie_word_embeddings = true;  // the decoder's table is the word table
  std::string other_keys = "{}";    // a JSON object: what else stood in config.json

  void describe(Fields& f);
  Result<> validate(std::string_view where) const;

  static Result<BertConfig> from_hf_json(const Json& object, std::string_view where);
  // `architecture`: "BertForMaskedLM", "BertForPreTraining", ...
  Json to_hf_json(std::string_view architecture) const;

  friend bool operator==(const BertConfig&, const BertConfig&) = default;
};

}  // namespace headwater
