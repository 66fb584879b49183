// From options to the two model configs: google's rules for widths, heads and layers.
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>

#include "train/pretrain_options.h"

namespace headwater {
namespace {

struct Size {
  std::string_view name;
  int64_t layers, hidden;
};
constexpr std::array kSizes = {Size{"tiny", 4, 128}, Size{"small", 12, 256}, Size{"base", 12, 768},
                               Size{"large", 24, 1024}};

// Half to even, as Python's round().
int64_t round_half_even(double value) { return std::llrint(value); }

void derive_widths(ElectraConfig& config) {
  config.num_attention_heads = std::max<int64_t>(1, config.hidden_size / 64);
  config.intermediate_size = 4 * config.hidden_size;
}

// An override of the hidden size moves heads and inner width with it, unless they are given too.
Result<> apply_overrides(ElectraConfig& config, const std::string& text, bool derive,
                         bool embedding_follows) {
  HW_ASSIGN_OR_RETURN(const Json overrides, parse_json(text, "model_hparam_overrides"));
  Fields fields;
  config.describe(fields);
  HW_RETURN_IF_ERROR(fields.set_json(overrides, "model_hparam_overrides"));
  if (derive) derive_widths(config);
  if (embedding_follows) config.embedding_size = config.hidden_size;
  return fields.set_json(overrides, "model_hparam_overrides");
}

ElectraConfig generator_of(const PretrainOptions& options, const ElectraConfig& discriminator) {
  ElectraConfig generator = discriminator;
  if (!options.electra_objective || !options.untied_generator) return generator;
  generator.hidden_size = round_half_even(static_cast<double>(discriminator.hidden_size) *
                                          options.generator_hidden_size);
  generator.num_hidden_layers = round_half_even(
      static_cast<double>(discriminator.num_hidden_layers) * options.generator_layers);
  derive_widths(generator);
  if (options.untied_generator_embeddings) generator.embedding_size = generator.hidden_size;
  return generator;
}

int64_t encoder_parameters(const ElectraConfig& c) {
  const int64_t h = c.hidden_size, f = c.intermediate_size;
  const int64_t layer = 4 * (h * h + h) + 2 * h + (h * f + f) + (f * h + h) + 2 * h;
  const int64_t projection = c.embedding_size != h ? c.embedding_size * h + h : 0;
  return c.num_hidden_layers * layer + projection;
}

int64_t table_parameters(const ElectraConfig& c) {
  return (c.vocab_size + c.max_position_embeddings + c.type_vocab_size + 2) * c.embedding_size;
}

int64_t mlm_head_parameters(const ElectraConfig& c) {
  return c.hidden_size * c.embedding_size + c.embedding_size + 2 * c.embedding_size + c.vocab_size;
}

}  // namespace

Result<ElectraConfigs> PretrainOptions::model_configs(int64_t vocabulary_size) const {
  ElectraConfig config;
  for (const Size& size : kSizes) {
    if (size.name == model_size)
      config.num_hidden_layers = size.layers, config.hidden_size = size.hidden;
  }
  derive_widths(config);
  if (debug) {
    config.num_hidden_layers = 3, config.hidden_size = 144;
    config.num_attention_heads = 4, config.intermediate_size = 576;
  }
  config.vocab_size = vocab_size.value_or(vocabulary_size);
  config.embedding_size = embedding_size.value_or(config.hidden_size);
  HW_RETURN_IF_ERROR(
      apply_overrides(config, model_hparam_overrides, !debug, !embedding_size.has_value()));
  if (config.vocab_size < vocabulary_size) {
    return fail_hint(Code::kInvalidArgument, "leave vocab_size out to take the file's",
                     "vocab_size {} is less than the {} tokens of the vocabulary file",
                     config.vocab_size, vocabulary_size);
  }
  if (max_seq_length > config.max_position_embeddings) {
    return fail_hint(Code::kInvalidArgument,
                     fmt::format("--model-hparam-overrides '{{\"max_position_embeddings\": {}}}'",
                                 max_seq_length),
                     "max_seq_length {} is over max_position_embeddings {}", max_seq_length,
                     config.max_position_embeddings);
  }
  HW_RETURN_IF_ERROR(config.validate("discriminator"));
  ElectraConfigs configs{config, generator_of(*this, config)};
  if (configs.generator.hidden_size < 1 || configs.generator.num_hidden_layers < 1) {
    return fail(Code::kInvalidArgument,
                "the generator would have {} layers of width {}: raise generator_layers or "
                "generator_hidden_size",
                configs.generator.num_hidden_layers, configs.generator.hidden_size);
  }
  HW_RETURN_IF_ERROR(configs.generator.validate("generator"));
  return configs;
}

ParameterCounts count_parameters(const PretrainOptions& options, const ElectraConfigs& configs) {
  const ElectraConfig& d = configs.discriminator;
  const ElectraConfig& g = configs.generator;
  const int64_t body = table_parameters(d) + encoder_parameters(d);
  if (!options.electra_objective) return {body + mlm_head_parameters(d), 0};
  const int64_t h = d.hidden_size;
  ParameterCounts counts{body + h * h + h + h + 1, mlm_head_parameters(g)};
  if (!options.untied_generator) return counts;
  counts.generator += encoder_parameters(g);
  if (options.untied_generator_embeddings) counts.generator += table_parameters(g);
  return counts;
}

}  // namespace headwater
