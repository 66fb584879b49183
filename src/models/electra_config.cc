#include "models/electra_config.h"

#include <array>
#include <nlohmann/json.hpp>

namespace headwater {
namespace {

constexpr std::array kSizeKeys = {"vocab_size",        "embedding_size",      "hidden_size",
                                  "num_hidden_layers", "num_attention_heads", "intermediate_size"};

}  // namespace

void ElectraConfig::describe(Fields& f) {
  // The upper ends bound what a damaged or hostile file can ask for.
  f("vocab_size", vocab_size, "rows of the word table").range(1, 1 << 24);
  f("embedding_size", embedding_size, "width of the tables").range(1, 1 << 16);
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
  f("hidden_act", hidden_act, "activation").one_of({"gelu"});
}

Result<> ElectraConfig::validate(std::string_view where) const {
  if (hidden_size % num_attention_heads != 0) {
    return fail(Code::kInvalidArgument,
                "{}: hidden_size {} is not a multiple of num_attention_heads {}", where,
                hidden_size, num_attention_heads);
  }
  if (pad_token_id >= vocab_size) {
    return fail(Code::kInvalidArgument, "{}: pad_token_id {} is not below vocab_size {}", where,
                pad_token_id, vocab_size);
  }
  return {};
}

Result<ElectraConfig> ElectraConfig::from_hf_json(const Json& object, std::string_view where) {
  if (!object.is_object()) return fail(Code::kInvalidArgument, "{} is not a JSON object", where);
  const std::string model_type = object.contains("model_type") && object["model_type"].is_string()
                                     ? object["model_type"].get<std::string>()
                                     : "electra";
  if (model_type != "electra") {
    return fail(Code::kInvalidArgument, "{}: model_type is \"{}\", not \"electra\"", where,
                model_type);
  }
  for (const char* key : kSizeKeys) {
    if (object.contains(key)) continue;
    return fail_hint(Code::kInvalidArgument, "write the size the weights have", "{}: no \"{}\"",
                     where, key);
  }
  const auto position = object.find("position_embedding_type");
  if (position != object.end() && *position != "absolute") {
    return fail(Code::kUnimplemented, "{}: position_embedding_type {} is not supported", where,
                dump_json(*position));
  }
  ElectraConfig config;
  Fields fields;
  config.describe(fields);
  Json known = Json::object(), other = Json::object();
  for (const auto& [key, value] : object.items()) {
    if (fields.find(key) == nullptr) other[key] = value;
    else if (!value.is_null()) known[key] = value;
  }
  HW_RETURN_IF_ERROR(fields.set_json(known, where));
  config.other_keys = dump_json(other);
  HW_RETURN_IF_ERROR(config.validate(where));
  return config;
}

Json ElectraConfig::to_hf_json(std::string_view architecture) const {
  ElectraConfig copy = *this;
  Fields fields;
  copy.describe(fields);
  Json object = Json::object();
  object["architectures"] = Json::array({std::string(architecture)});
  object["model_type"] = "electra";
  const Json known = fields.to_json();
  for (const auto& [key, value] : known.items()) object[key] = value;
  object["position_embedding_type"] = "absolute";
  const auto other = parse_json(other_keys, "other_keys");
  HW_CHECK(other.has_value() && other->is_object(), "other_keys is not a JSON object");
  for (const auto& [key, value] : other->items()) {
    if (!object.contains(key)) object[key] = value;
  }
  return object;
}

}  // namespace headwater
