#include "models/bert_config.h"

#include <array>
#include <nlohmann/json.hpp>

#include "models/hf_config.h"

namespace headwater {
namespace {

constexpr std::array kSizeKeys = {"vocab_size", "hidden_size", "num_hidden_layers",
                                  "num_attention_heads", "intermediate_size"};

}  // namespace

void BertConfig::describe(Fields& f) {
  // The upper ends bound what a damaged or hostile file can ask for.
  f("vocab_size", vocab_size, "rows of the word table").range(1, 1 << 24);
  f("hidden_size", hidden_size, "width of the encoder").range(1, 1 << 16);
  f("num_hidden_layers", num_hidden_layers, "encoder layers").range(1, 1 << 10);
  f("num_attention_heads", num_attention_heads, "attention heads per layer").range(1, 1 << 10);
  f("intermediate_size", intermediate_size, "inner width of the feed-forward part")
      .range(1, 1 << 18);
  f("max_position_embeddings", max_position_embeddings, "rows of the position table")
      .range(1, 1 << 20);
  f("type_vocab_size", type_vocab_size, "rows of the segment table").range(1, 1 << 16);
  f("pad_token_id", pad_token_id, "id of [PAD]").non_negative();
  f("hidden_dropout_prob", hidden_dropout_prob, "dropout of states").range(0, 0.99);
  f("attention_probs_dropout_prob", attention_probs_dropout_prob, "dropout of attention")
      .range(0, 0.99);
  f("initializer_range", initializer_range, "deviation of fresh weights").range(0, 10);
  f("layer_norm_eps", layer_norm_eps, "added to the variance").range(0, 1);
  f("hidden_act", hidden_act, "activation").one_of({"gelu", "gelu_new", "gelu_pytorch_tanh"});
  f("tie_word_embeddings", tie_word_embeddings, "decoder and word table are one");
}

Result<> BertConfig::validate(std::string_view where) const {
  HW_RETURN_IF_ERROR(
      check_heads("hidden_size", hidden_size, "num_attention_heads", num_attention_heads, where));
  if (pad_token_id >= vocab_size) {
    return fail(Code::kInvalidArgument, "{}: pad_token_id {} is not below vocab_size {}", where,
                pad_token_id, vocab_size);
  }
  return {};
}

Result<BertConfig> BertConfig::from_hf_json(const Json& object, std::string_view where) {
  BertConfig config;
  Fields fields;
  config.describe(fields);
  HW_ASSIGN_OR_RETURN(config.other_keys, read_hf_config(fields, object, "bert", kSizeKeys, where));
  HW_RETURN_IF_ERROR(config.validate(where));
  return config;
}

Json BertConfig::to_hf_json(std::string_view architecture) const {
  BertConfig copy = *this;
  Fields fields;
  copy.describe(fields);
  return write_hf_config(fields, "bert", architecture, other_keys);
}

}  // namespace headwater
