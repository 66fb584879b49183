#include "checkpoints/hf_export.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "checkpoints/hf_tokenizer.h"
#include "checkpoints/safetensors.h"

namespace headwater {
namespace {

constexpr std::string_view kBody = "electra.";
constexpr std::string_view kEmbeddings = "electra.embeddings.";
constexpr std::string_view kEncoder = "electra.encoder.";

class SpecList {
 public:
  void add(std::string name, Shape shape) {
    specs.push_back({std::move(name), DType::kF32, std::move(shape)});
  }
  void linear(const std::string& name, int64_t out, int64_t in) {
    add(name + ".weight", {out, in});
    add(name + ".bias", {out});
  }
  void norm(const std::string& name, int64_t width) {
    add(name + ".weight", {width});
    add(name + ".bias", {width});
  }

  std::vector<TensorSpec> specs;
};

void add_encoder_layer(SpecList& list, const std::string& layer, int64_t h, int64_t f) {
  for (const char* projection : {"query", "key", "value"})
    list.linear(layer + "attention.self." + projection, h, h);
  list.linear(layer + "attention.output.dense", h, h);
  list.norm(layer + "attention.output.LayerNorm", h);
  list.linear(layer + "intermediate.dense", f, h);
  list.linear(layer + "output.dense", h, f);
  list.norm(layer + "output.LayerNorm", h);
}

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
  const auto existing = fs.list(prepared.directory);
  if (existing && !existing->empty() && !request.overwrite) {
    return fail_hint(Code::kAlreadyExists, "name another directory, or give --overwrite",
                     "{} exists and is not empty", prepared.directory);
  }
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

// config.json comes last and a former one goes first: a directory without it is seen to be
// incomplete.
Result<ExportedNetwork> write_network(FileSystem& fs, const PreparedNetwork& prepared) {
  HW_RETURN_IF_ERROR(fs.make_directories(prepared.directory));
  const std::string config = join_path(prepared.directory, "config.json");
  if (fs.exists(config)) HW_RETURN_IF_ERROR(fs.remove(config));
  HW_RETURN_IF_ERROR(write_safetensors_file(fs, join_path(prepared.directory, "model.safetensors"),
                                            prepared.weights));
  for (const auto& [name, content] : prepared.files)
    HW_RETURN_IF_ERROR(write_file_atomic(fs, join_path(prepared.directory, name), content));
  ExportedNetwork exported{prepared.directory, 0, 0, 0};
  for (const TensorView& view : prepared.weights) {
    exported.tensors += 1;
    exported.parameters += element_count(view.shape);
    exported.bytes += static_cast<int64_t>(view.bytes.size());
  }
  return exported;
}

}  // namespace

std::string_view network_name(ElectraNetwork network) {
  return network == ElectraNetwork::kDiscriminator ? "discriminator" : "generator";
}

std::string_view architecture_name(ElectraNetwork network) {
  return network == ElectraNetwork::kDiscriminator ? "ElectraForPreTraining" : "ElectraForMaskedLM";
}

std::vector<TensorSpec> hf_electra_tensors(const ElectraConfig& config, ElectraNetwork network) {
  const int64_t e = config.embedding_size, h = config.hidden_size;
  SpecList list;
  const std::string embeddings(kEmbeddings);
  list.add(embeddings + "word_embeddings.weight", {config.vocab_size, e});
  list.add(embeddings + "position_embeddings.weight", {config.max_position_embeddings, e});
  list.add(embeddings + "token_type_embeddings.weight", {config.type_vocab_size, e});
  list.norm(embeddings + "LayerNorm", e);
  if (e != h) list.linear("electra.embeddings_project", h, e);
  for (int64_t i = 0; i < config.num_hidden_layers; ++i) {
    add_encoder_layer(list, fmt::format("{}layer.{}.", kEncoder, i), h, config.intermediate_size);
  }
  if (network == ElectraNetwork::kDiscriminator) {
    list.linear("discriminator_predictions.dense", h, h);
    list.linear("discriminator_predictions.dense_prediction", 1, h);
  } else {  // generator_lm_head.weight is tied to the word table
    list.linear("generator_predictions.dense", e, h);
    list.norm("generator_predictions.LayerNorm", e);
    list.add("generator_lm_head.bias", {config.vocab_size});
  }
  return std::move(list.specs);
}

Result<std::vector<TensorView>> hf_electra_weights(const TrainState& state,
                                                   const ElectraConfig& config,
                                                   ElectraNetwork network) {
  const auto by_name = parameters_by_name(state);
  const StateNames names(by_name, network);
  std::vector<TensorSpec> specs = hf_electra_tensors(config, network);
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

}  // namespace headwater
