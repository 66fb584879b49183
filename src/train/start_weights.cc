#include "train/start_weights.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "checkpoints/native.h"

namespace headwater {
namespace {

constexpr std::string_view kDiscriminator = "discriminator.", kGenerator = "generator.";
constexpr std::string_view kTables = "electra.embeddings.", kBody = "electra.";
constexpr std::string_view kEncoder = "electra.encoder.", kBert = "bert.";

std::string joined(std::string_view scope, std::string_view name) {
  return std::string(scope).append(name);
}

bool has_prefix(const std::vector<NamedTensor>& tensors, const std::string& prefix) {
  return std::ranges::any_of(tensors,
                             [&](const NamedTensor& t) { return t.name.starts_with(prefix); });
}

template <class Rename>
void rename_all(TrainState& state, Rename rename) {
  for (auto* tensors : {&state.parameters, &state.slots}) {
    for (NamedTensor& tensor : *tensors) tensor.name = rename(tensor.name);
  }
}

// bert.X -> discriminator.electra.X; heads keep names that the pair does not have.
void place_bert(StartWeights& start) {
  rename_all(start.state, [](const std::string& name) {
    if (!name.starts_with(kBert)) return name;
    return joined(kDiscriminator, joined(kBody, std::string_view(name).substr(kBert.size())));
  });
  start.other_model = true;
  start.notes.emplace_back("the discriminator starts from a BERT encoder; its heads are left out");
}

// A pair keeps shared tables under the discriminator, one encoder everything.
void place_single(StartWeights& start, std::string_view scope, bool one_encoder) {
  rename_all(start.state, [&](const std::string& name) {
    if (name.starts_with(kDiscriminator) || name.starts_with(kGenerator)) return name;
    const bool shared = name.starts_with(kTables) || (one_encoder && name.starts_with(kBody));
    return joined(shared ? kDiscriminator : scope, name);
  });
}

// With a generator only: its tables are the pair's, and its encoder is the discriminator's first
// one where shapes allow.
void start_discriminator_from_generator(StartWeights& start, std::span<const TensorSpec> specs) {
  std::set<std::pair<std::string_view, Shape>> wanted;
  for (const TensorSpec& spec : specs) wanted.emplace(spec.name, spec.shape);
  int64_t copied = 0;
  std::vector<NamedTensor> copies;
  for (const NamedTensor& tensor : start.state.parameters) {
    if (!tensor.name.starts_with(joined(kGenerator, kBody))) continue;
    std::string name =
        joined(kDiscriminator, std::string_view(tensor.name).substr(kGenerator.size()));
    if (!wanted.contains({name, tensor.tensor.shape()})) continue;
    copies.push_back({std::move(name), tensor.tensor});
    ++copied;
  }
  std::ranges::move(copies, std::back_inserter(start.state.parameters));
  start.state.slots.clear();
  start.other_model = true;
  start.notes.push_back(fmt::format(
      "the source has no discriminator: {} of its tensors start from the generator's", copied));
}

bool all_slots(const TrainState& state) {
  std::set<std::string_view> slots;
  for (const NamedTensor& slot : state.slots) slots.insert(slot.name);
  return !slots.empty() && std::ranges::all_of(state.parameters, [&](const NamedTensor& p) {
    return slots.contains(p.name + "#adam_m") && slots.contains(p.name + "#adam_v");
  });
}

bool is_generator(const ModelWeights::Network& network) {
  return network.scope == kGenerator ||
         network.model.architecture == Architecture::kElectraForMaskedLM;
}

std::string model_names(const ModelWeights& weights) {
  std::string names;
  for (const ModelWeights::Network& network : weights.networks()) {
    names.append(names.empty() ? "" : " and ")
        .append(architecture_name(network.model.architecture));
  }
  return names;
}

}  // namespace

Result<StartWeights> read_start_weights(FileSystem& fs, const std::string& path,
                                        std::span<const TensorSpec> specs, bool one_encoder) {
  StartWeights start;
  HW_ASSIGN_OR_RETURN(const ModelWeights weights, ModelWeights::open(fs, path));
  start.notes = weights.notes();
  start.networks = weights.networks();
  HW_ASSIGN_OR_RETURN(start.state, weights.state());
  if (const auto own = find_checkpoint(fs, path)) {  // one of ours has a checksum over all of it
    HW_RETURN_IF_ERROR(load_checkpoint(fs, *own, LoadSlots::kNo));
  }
  const Architecture architecture = weights.networks().front().model.architecture;
  if (model_type(architecture) == "bert") {
    place_bert(start);
  } else if (model_type(architecture) != "electra") {
    return fail(Code::kInvalidArgument, "{} holds a {}, which an ELECTRA cannot start from", path,
                architecture_name(architecture));
  } else {
    place_single(start,
                 architecture == Architecture::kElectraForMaskedLM ? kGenerator : kDiscriminator,
                 one_encoder);
  }
  const auto& parameters = start.state.parameters;
  const bool generator = has_prefix(parameters, joined(kGenerator, kEncoder));
  const bool discriminator = has_prefix(parameters, joined(kDiscriminator, kEncoder));
  if (!one_encoder && generator && !discriminator) start_discriminator_from_generator(start, specs);
  start.generator_missing = !one_encoder && !generator;
  start.has_slots = all_slots(start.state);
  start.origin = fmt::format("{} of {}", model_names(weights), weights.source(0).path());
  if (weights.step()) start.origin += fmt::format(" at step {}", *weights.step());
  return start;
}

Result<> add_generator(FileSystem& fs, const std::string& path, StartWeights& weights) {
  HW_ASSIGN_OR_RETURN(const ModelWeights source, ModelWeights::open(fs, path));
  HW_ASSIGN_OR_RETURN(TrainState state, source.state());
  int64_t added = 0;
  for (NamedTensor& tensor : state.parameters) {
    const bool scoped = tensor.name.starts_with(kGenerator);
    if (!scoped && tensor.name.starts_with(kDiscriminator)) continue;
    std::string name = scoped ? tensor.name : joined(kGenerator, tensor.name);
    added += name.starts_with(joined(kGenerator, kEncoder)) ? 1 : 0;
    weights.state.parameters.push_back({std::move(name), std::move(tensor.tensor)});
  }
  if (added == 0) return fail(Code::kInvalidArgument, "{} holds no generator", path);
  for (const ModelWeights::Network& network : source.networks()) {
    if (is_generator(network)) weights.networks.push_back(network);
  }
  weights.generator_missing = false;
  weights.has_slots = false;
  weights.origin += fmt::format(", generator of {}", source.source(0).path());
  return {};
}

Result<> check_settings(const StartWeights& start, const ElectraConfigs& configs) {
  constexpr std::array kKeys = {"num_attention_heads", "hidden_act", "layer_norm_eps"};
  for (const ModelWeights::Network& network : start.networks) {
    if (network.heads_assumed) continue;
    const bool generator = is_generator(network);
    const Json said = network.model.to_hf_json();
    const Json run = (generator ? configs.generator : configs.discriminator).to_hf_json("");
    for (const char* const key : kKeys) {
      if (!said.contains(key) || said[key] == run[key]) continue;
      const std::string value = said[key].dump();
      return fail_hint(Code::kFailedPrecondition,
                       generator
                           ? "a generator has heads of 64, and else the discriminator's settings"
                           : fmt::format("--model-hparam-overrides '{{\"{}\": {}}}'", key, value),
                       "{}: its {} has {} {}, the run {}", start.origin,
                       generator ? "generator" : "discriminator", key, value, run[key].dump());
    }
  }
  return {};
}

std::string start_report(const FitReport& fit) {
  std::string text = fmt::format("loaded {} tensors", fit.matched);
  const auto list = [&](std::string_view what, const std::vector<std::string>& names) {
    if (names.empty()) return;
    text += fmt::format("; {} {}: {}", names.size(), what, names.front());
    if (names.size() > 1) text += fmt::format(" to {}", names.back());
  };
  list("fresh", fit.missing);
  list("unused", fit.unexpected);
  return text;
}

}  // namespace headwater
