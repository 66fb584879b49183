#include "checkpoints/export_meta.h"

#include <nlohmann/json.hpp>

#include "checkpoints/hf_export.h"

namespace headwater {
namespace {

// Texts are tokenised alike where these are alike.
struct TokenizerSwitches {
  TokenizerOptions& options;
  void describe(Fields& f) {
    f("do_lower_case", options.do_lower_case, "");
    f("strip_accents", options.strip_accents, "");
    f("normalize", options.normalize, "").one_of({"none", "nfc", "nfkc"});
    f("isolate_emoji", options.isolate_emoji, "");
    f("max_jamo_run", options.max_jamo_run, "").non_negative();
  }
};

}  // namespace

void put_export_meta(Json& meta, const ExportMeta& values) {
  Json models = Json::object();
  for (const auto& [network, config] :
       {std::pair(ElectraNetwork::kDiscriminator, &values.discriminator),
        std::pair(ElectraNetwork::kGenerator, &values.generator)}) {
    if (!config->has_value()) continue;
    models[std::string(network_name(network))] = (*config)->to_hf_json(architecture_name(network));
  }
  meta["models"] = std::move(models);
  if (!values.vocabulary_digest.empty()) meta["vocabulary"]["sha256"] = values.vocabulary_digest;
  if (!values.tokenizer) return;
  TokenizerOptions copy = *values.tokenizer;
  Fields fields;
  TokenizerSwitches{copy}.describe(fields);
  meta["tokenizer"] = fields.to_json();
}

Result<ExportMeta> get_export_meta(const std::string& meta, std::string_view where) {
  HW_ASSIGN_OR_RETURN(const Json json, parse_json(meta, where));
  const auto models = json.find("models");
  if (models == json.end() || !models->is_object()) {
    return fail(Code::kInvalidArgument, "{} does not say the sizes of its networks", where);
  }
  ExportMeta values;
  for (const auto& [network, config] :
       {std::pair(ElectraNetwork::kDiscriminator, &values.discriminator),
        std::pair(ElectraNetwork::kGenerator, &values.generator)}) {
    const auto found = models->find(network_name(network));
    if (found == models->end()) continue;
    const std::string place = fmt::format("{}, models.{}", where, network_name(network));
    HW_ASSIGN_OR_RETURN(*config, ElectraConfig::from_hf_json(*found, place));
  }
  const auto vocabulary = json.find("vocabulary");
  if (vocabulary != json.end() && vocabulary->is_object() && vocabulary->contains("sha256") &&
      (*vocabulary)["sha256"].is_string()) {
    values.vocabulary_digest = (*vocabulary)["sha256"].get<std::string>();
  }
  const auto tokenizer = json.find("tokenizer");
  if (tokenizer == json.end()) return values;
  values.tokenizer.emplace();
  Fields fields;
  TokenizerSwitches{*values.tokenizer}.describe(fields);
  HW_RETURN_IF_ERROR(fields.set_json(*tokenizer, fmt::format("{}, tokenizer", where)));
  return values;
}

}  // namespace headwater
