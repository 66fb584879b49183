#include "train/start_sizes.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "checkpoints/model_weights.h"

namespace headwater {
namespace {

std::string_view nearest_size(int64_t hidden_size) {
  if (hidden_size >= 1024) return "large";
  if (hidden_size >= 768) return "base";
  return hidden_size >= 256 ? "small" : "tiny";
}

// What an ElectraConfig has of a config.json.
Json encoder_sizes(const Json& config) {
  ElectraConfig known;
  Fields fields;
  known.describe(fields);
  Json sizes = Json::object();
  for (const Field& field : fields.all())
    if (config.contains(field.name)) sizes[field.name] = config[field.name];
  if (!sizes.contains("embedding_size")) sizes["embedding_size"] = sizes["hidden_size"];  // a BERT
  return sizes;
}

double ratio(const Json& a, const Json& b, const char* key) {
  return a.value(key, 1.0) / std::max(1.0, b.value(key, 1.0));
}

}  // namespace

Result<Json> start_sizes(FileSystem& fs, const std::string& path) {
  HW_ASSIGN_OR_RETURN(const ModelWeights weights, ModelWeights::open(fs, path));
  Json discriminator, generator;
  for (const ModelWeights::Network& network : weights.networks()) {
    const Architecture architecture = network.model.architecture;
    if (model_type(architecture) == "gpt2")
      return fail(Code::kUnimplemented, "{} holds a {}, which an ELECTRA cannot start from", path,
                  architecture_name(architecture));
    const bool generates =
        network.scope == "generator." ||
        (network.scope.empty() && architecture == Architecture::kElectraForMaskedLM);
    (generates ? generator : discriminator) = encoder_sizes(network.model.to_hf_json());
  }
  const Json& encoder = discriminator.is_null() ? generator : discriminator;
  Json options = {{"model_size", nearest_size(encoder.value("hidden_size", int64_t{0}))},
                  {"model_hparam_overrides", dump_json(encoder)}};
  if (!discriminator.is_null() && !generator.is_null()) {
    options["generator_hidden_size"] = ratio(generator, discriminator, "hidden_size");
    options["generator_layers"] = ratio(generator, discriminator, "num_hidden_layers");
  }
  return options;
}

}  // namespace headwater
