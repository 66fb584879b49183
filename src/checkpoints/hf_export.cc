#include "checkpoints/hf_export.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/json.h"
#include "checkpoints/hf_directory.h"
#include "checkpoints/hf_tokenizer.h"
#include "models/model.h"

namespace headwater {
namespace {

constexpr std::string_view kAverage = "#ema";
constexpr std::string_view kBody = "electra.";
constexpr std::string_view kEmbeddings = "electra.embeddings.";
constexpr std::string_view kEncoder = "electra.encoder.";

// Where a network's tensors stand in a training state. A scope without an encoder of its own uses
// the other's whole body, one without embeddings uses the other's embeddings.
class StateNames {
 public:
  StateNames(const std::map<std::string_view, const Tensor*>& by_name, ElectraNetwork network)
      : by_name_(by_name),
        own_(fmt::format("{}.", network_name(network))),
        other_(network == ElectraNetwork::kGenerator ? "discriminator." : "generator.") {
    own_encoder_ = holds(own_ + std::string(kEncoder));
    own_embeddings_ = holds(own_ + std::string(kEmbeddings));
  }

  std::string of(const std::string& hf_name) const {
    const bool shared_body = hf_name.starts_with(kBody) && !own_encoder_;
    const bool shared_tables = hf_name.starts_with(kEmbeddings) && !own_embeddings_;
    return (shared_body || shared_tables ? other_ : own_) + hf_name;
  }

 private:
  bool holds(const std::string& prefix) const {
    const auto first = by_name_.lower_bound(prefix);
    return first != by_name_.end() && first->first.starts_with(prefix);
  }

  const std::map<std::string_view, const Tensor*>& by_name_;
  std::string own_, other_;
  bool own_encoder_ = false, own_embeddings_ = false;
};

// Files of one network, ready to be written.
struct PreparedNetwork {
  std::string directory;
  std::vector<TensorView> weights;
  std::vector<std::pair<std::string, std::string>> files;
};

Result<PreparedNetwork> prepare(FileSystem& fs, const HfExport& request, ElectraNetwork network,
                                ElectraConfig config, const std::string& output_directory,
                                std::vector<std::string>& notes) {
  PreparedNetwork prepared;
  prepared.directory = join_path(output_directory, network_name(network));
  HW_RETURN_IF_ERROR(check_output_directory(fs, prepared.directory, request.overwrite));
  const Vocabulary& vocabulary = *request.vocabulary;
  if (vocabulary.size() > config.vocab_size) {
    return fail_hint(Code::kInvalidArgument, "name the vocabulary the run was trained with",
                     "{} has {} tokens, the {} has rows for {}", vocabulary.name(),
                     vocabulary.size(), network_name(network), config.vocab_size);
  }
  HW_ASSIGN_OR_RETURN(prepared.weights, hf_electra_weights(*request.state, config, network));
  HW_ASSIGN_OR_RETURN(const SpecialIds special, vocabulary.special_ids());
  config.pad_token_id = special.pad;
  Json json = config.to_hf_json(architecture_name(network));
  json["tie_word_embeddings"] = true;
  HW_ASSIGN_OR_RETURN(
      HfTokenizerFiles tokenizer,
      hf_tokenizer_files(vocabulary, request.tokenizer, config.max_position_embeddings));
  notes = std::move(tokenizer.notes);
  prepared.files = std::move(tokenizer.files);
  prepared.files.emplace_back("config.json", dump_json(json, 2) + "\n");
  return prepared;
}

Result<ExportedNetwork> write_network(FileSystem& fs, const PreparedNetwork& prepared) {
  ExportedNetwork exported{prepared.directory, 0, 0, 0};
  HfDirectory directory{.path = prepared.directory, .files = prepared.files, .overwrite = true};
  std::map<std::string_view, const TensorView*> views;
  for (const TensorView& view : prepared.weights) {
    directory.tensors.push_back({view.name, element_type(view.dtype), view.shape});
    views[view.name] = &view;
    exported.tensors += 1;
    exported.parameters += element_count(view.shape);
    exported.bytes += static_cast<int64_t>(view.bytes.size());
  }
  HW_RETURN_IF_ERROR(write_hf_directory(fs, directory, [&](const TensorPlan& plan, ByteSink& sink) {
    return sink.write(views.at(plan.name)->bytes);
  }));
  return exported;
}

}  // namespace

std::string_view network_name(ElectraNetwork network) {
  return network == ElectraNetwork::kDiscriminator ? "discriminator" : "generator";
}

std::string_view architecture_name(ElectraNetwork network) {
  return network == ElectraNetwork::kDiscriminator ? "ElectraForPreTraining" : "ElectraForMaskedLM";
}

Result<std::vector<TensorSpec>> hf_electra_tensors(const ElectraConfig& config,
                                                   ElectraNetwork network) {
  const Architecture architecture = network == ElectraNetwork::kDiscriminator
                                        ? Architecture::kElectraForPreTraining
                                        : Architecture::kElectraForMaskedLM;
  HW_ASSIGN_OR_RETURN(const ParameterTypes types, parameter_types({architecture, config, {}}));
  std::vector<TensorSpec> specs;
  for (const ParameterType& parameter : types.parameters)
    specs.push_back({parameter.name, parameter.type.dtype, parameter.type.shape});
  return specs;
}

Result<std::vector<TensorView>> hf_electra_weights(const TrainState& state,
                                                   const ElectraConfig& config,
                                                   ElectraNetwork network) {
  const auto by_name = parameters_by_name(state);
  const StateNames names(by_name, network);
  HW_ASSIGN_OR_RETURN(std::vector<TensorSpec> specs, hf_electra_tensors(config, network));
  std::vector<TensorView> views;
  for (TensorSpec& spec : specs) {
    std::string hf_name = std::move(spec.name);
    spec.name = names.of(hf_name);
    const auto found = by_name.find(spec.name);
    if (found != by_name.end()) views.push_back(TensorView::of(std::move(hf_name), *found->second));
  }
  FitReport report = check_fit(specs, state);
  // What the network has beyond its configuration would be lost: another depth, or a head that
  // transformers does not know. The other network's own tensors are not meant.
  const std::string scope = fmt::format("{}.", network_name(network));
  std::erase_if(report.unexpected,
                [&](const std::string& name) { return !name.starts_with(scope); });
  if (!report.fits() || !report.unexpected.empty()) {
    return fail(Code::kFailedPrecondition, "the {} is not as its configuration says: {}",
                network_name(network), report.to_string());
  }
  return views;
}

Result<HfExportReport> export_electra(FileSystem& fs, const HfExport& request,
                                      const std::string& output_directory) {
  HfExportReport report;
  std::vector<PreparedNetwork> networks;
  for (const auto& [network, config] :
       {std::pair(ElectraNetwork::kDiscriminator, &request.discriminator),
        std::pair(ElectraNetwork::kGenerator, &request.generator)}) {
    if (!config->has_value()) continue;
    HW_ASSIGN_OR_RETURN(PreparedNetwork prepared,
                        prepare(fs, request, network, **config, output_directory, report.notes));
    networks.push_back(std::move(prepared));
  }
  if (networks.empty()) {
    return fail(Code::kInvalidArgument, "the checkpoint says of no network what it is");
  }
  for (const PreparedNetwork& prepared : networks) {
    HW_ASSIGN_OR_RETURN(ExportedNetwork exported, write_network(fs, prepared));
    report.networks.push_back(std::move(exported));
  }
  return report;
}

bool has_averages(const TrainState& state) {
  std::set<std::string_view> slots;
  for (const NamedTensor& slot : state.slots) slots.insert(slot.name);
  return !state.parameters.empty() && std::ranges::all_of(state.parameters, [&](const auto& p) {
    return slots.contains(p.name + std::string(kAverage));
  });
}

Result<ExportedNetwork> export_model(FileSystem& fs, const HfModelExport& request,
                                     const std::string& output_directory) {
  HW_RETURN_IF_ERROR(check_output_directory(fs, output_directory, request.overwrite));
  HW_ASSIGN_OR_RETURN(const ParameterTypes types, parameter_types(request.model));
  std::vector<TensorSpec> specs;
  for (const ParameterType& parameter : types.parameters)
    specs.push_back({parameter.name, parameter.type.dtype, parameter.type.shape});
  HW_RETURN_IF_ERROR(require_fit(specs, *request.state, "the checkpoint"));
  auto by_name = parameters_by_name(*request.state);
  for (const NamedTensor& slot : request.state->slots) {
    const std::string_view name = slot.name;
    if (request.averaged && name.ends_with(kAverage))
      by_name[name.substr(0, name.size() - kAverage.size())] = &slot.tensor;
  }
  PreparedNetwork prepared{output_directory, {}, request.files};
  for (const TensorSpec& spec : specs)
    prepared.weights.push_back(TensorView::of(spec.name, *by_name.at(spec.name)));
  prepared.files.emplace_back("config.json", dump_json(request.model.to_hf_json(), 2) + "\n");
  return write_network(fs, prepared);
}

}  // namespace headwater
