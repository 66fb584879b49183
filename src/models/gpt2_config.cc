#include "models/gpt2_config.h"

#include <array>
#include <nlohmann/json.hpp>

#include "models/hf_config.h"

namespace headwater {
namespace {

constexpr std::array kSizeKeys = {"vocab_size", "n_positions", "n_embd", "n_layer", "n_head"};

}  // namespace

void Gpt2Config::describe(Fields& f) {
  // The upper ends bound what a damaged or hostile file can ask for.
  f("vocab_size", vocab_size, "rows of the word table").range(1, 1 << 24);
  f("n_positions", n_positions, "rows of the position table").range(1, 1 << 20);
  f("n_embd", n_embd, "width of the model").range(1, 1 << 16);
  f("n_layer", n_layer, "layers").range(1, 1 << 10);
  f("n_head", n_head, "attention heads per layer").range(1, 1 << 10);
  f("n_inner", n_inner, "inner width of the feed-forward part; null: 4 n_embd").range(1, 1 << 18);
  f("resid_pdrop", resid_pdrop, "dropout of what is added to the states").range(0, 0.99);
  f("embd_pdrop", embd_pdrop, "dropout of the embeddings").range(0, 0.99);
  f("attn_pdrop", attn_pdrop, "dropout of attention").range(0, 0.99);
  f("initializer_range", initializer_range, "deviation of fresh weights").range(0, 10);
  f("layer_norm_epsilon", layer_norm_epsilon, "added to the variance").range(0, 1);
  f("activation_function", activation_function, "activation")
      .one_of({"gelu_new", "gelu_pytorch_tanh", "gelu"});
  f("tie_word_embeddings", tie_word_embeddings, "head and word table are one");
}

Result<> Gpt2Config::validate(std::string_view where) const {
  return check_heads("n_embd", n_embd, "n_head", n_head, where);
}

Result<Gpt2Config> Gpt2Config::from_hf_json(const Json& object, std::string_view where) {
  Gpt2Config config;
  Fields fields;
  config.describe(fields);
  HW_ASSIGN_OR_RETURN(config.other_keys, read_hf_config(fields, object, "gpt2", kSizeKeys, where));
  HW_RETURN_IF_ERROR(config.validate(where));
  return config;
}

Json Gpt2Config::to_hf_json(std::string_view architecture) const {
  Gpt2Config copy = *this;
  Fields fields;
  copy.describe(fields);
  return write_hf_config(fields, "gpt2", architecture, other_keys);
}

}  // namespace headwater
