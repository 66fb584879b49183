// Sizes of one GPT-2 model (Radford et al. 2019), under the names of Hugging Face's config.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/described.h"
#include "base/error.h"
#include "base/json.h"

namespace headwater {

struct Gpt2Config {
  int64_t vocab_size = 50257;
  int64_t n_positions = 1024;
  int64_t n_embd = 768;
  int64_t n_layer = 12;
  int64_t n_head = 12;             // divides n_embd
  std::optional<int64_t> n_inner;  // unset: 4 n_embd
  double resid_pdrop = 0.1, embd_pdrop = 0.1, attn_pdrop = 0.1;
  double initializer_range = 0.02;
  double layer_norm_epsilon = 1e-5;
  // gelu_new, gelu_pytorch_tanh: the tanh form; gelu: the erf form.
  std::string activation_function = "gelu_new";
  bool tie_word_embeddings = true;  // the head's table is the word table
  std::string other_keys = "{}";    // a JSON object: what else stood in config.json

  int64_t inner_size() const { return n_inner.value_or(4 * n_embd); }

  void describe(Fields& f);
  Result<> validate(std::string_view where) const;

  static Result<Gpt2Config> from_hf_json(const Json& object, std::string_view where);
  // `architecture`: "GPT2LMHeadModel".
  Json to_hf_json(std::string_view architecture) const;

  friend bool operator==(const Gpt2Config&, const Gpt2Config&) = default;
};

}  // namespace headwater
