// Sizes of one ELECTRA encoder with its head, under the names of Hugging Face's config.json.
//
// Keys of a config.json that this program does not know are kept and written back, so that an
// export loses nothing. The generator and the discriminator have one ElectraConfig each. Nothing
// here builds a model.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/described.h"
#include "base/error.h"
#include "base/json.h"

namespace headwater {

struct ElectraConfig {
  int64_t vocab_size = 30522;
  int64_t embedding_size = 128;  // width of the tables; unlike hidden_size: a projection follows
  int64_t hidden_size = 256;
  int64_t num_hidden_layers = 12;
  int64_t num_attention_heads = 4;  // divides hidden_size
  int64_t intermediate_size = 1024;
  int64_t max_position_embeddings = 512;
  int64_t type_vocab_size = 2;
  int64_t pad_token_id = 0;
  double hidden_dropout_prob = 0.1;
  double attention_probs_dropout_prob = 0.1;
  double initializer_range = 0.02;
  double layer_norm_eps = 1e-12;
  std::string hidden_act = "gelu";  // the exact erf form
  std::string other_keys = "{}";    // a JSON object: what else stood in config.json

  // The fields as config.json names them; other_keys is not one of them.
  void describe(Fields& f);
  // Sizes against each other: the heads divide the width, one table row for [PAD].
  Result<> validate(std::string_view where) const;

  // `where` (a file) goes into errors. The size keys must be there: the defaults of the family are
  // those of one size, and would give another model than the weights beside the file.
  static Result<ElectraConfig> from_hf_json(const Json& object, std::string_view where);
  // `architecture`: "ElectraForPreTraining", "ElectraForMaskedLM", ...
  Json to_hf_json(std::string_view architecture) const;

  friend bool operator==(const ElectraConfig&, const ElectraConfig&) = default;
};

}  // namespace headwater
