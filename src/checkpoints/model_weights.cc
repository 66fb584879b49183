#include "checkpoints/model_weights.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "checkpoints/element_values.h"
#include "checkpoints/native.h"
#include "models/name_rules.h"

namespace headwater {
namespace {

constexpr std::string_view kDiscriminator = "discriminator.", kGenerator = "generator.";
constexpr std::string_view kTables = "electra.embeddings.", kEncoder = "electra.encoder.";
constexpr std::string_view kBody = "electra.";
constexpr int64_t kConfigLimit = int64_t{16} << 20;  // bytes

std::vector<NamedShape> named_shapes(const WeightsSource& source) {
  std::vector<NamedShape> shapes;
  for (const WeightEntry& entry : source.entries()) {
    shapes.push_back({entry.variable_name.empty() ? entry.name : entry.variable_name, entry.shape});
  }
  return shapes;
}

// The folder whose other files belong to the weights.
std::string directory_of(FileSystem& fs, const std::string& path) {
  const auto info = fs.info(path);
  return info && info->is_directory ? path : directory_name(path);
}

// The number at the end of "model.ckpt-1500000", "checkpoint-500".
std::optional<int64_t> step_in_name(std::string_view path) {
  const std::string name = base_name(path);
  const size_t dash = name.rfind('-');
  if (dash == std::string::npos || dash + 1 == name.size()) return std::nullopt;
  int64_t step = 0;
  const char* const end = name.data() + name.size();
  const auto [last, error] = std::from_chars(name.data() + dash + 1, end, step);
  if (error != std::errc() || last != end || step < 0) return std::nullopt;
  return step;
}

// The config.json of a network that a checkpoint of ours carries in its meta, where it does.
Result<std::optional<Json>> saved_model(const std::string& meta, const std::string& where,
                                        std::string_view scope) {
  HW_ASSIGN_OR_RETURN(const Json json, parse_json(meta, where));
  const Json* place = &json;
  if (!scope.empty()) {
    const auto models = json.find("models");
    if (models == json.end() || !models->is_object()) return std::optional<Json>();
    place = &*models;
  }
  const auto found = place->find(scope.empty() ? std::string("model")
                                               : std::string(scope.substr(0, scope.size() - 1)));
  return found == place->end() ? std::optional<Json>() : std::optional<Json>(*found);
}

}  // namespace

Result<ModelWeights> ModelWeights::open(FileSystem& fs, const std::string& path,
                                        const std::string& config) {
  ModelWeights weights;
  weights.path_ = path;
  if (const auto own = find_checkpoint(fs, path)) {
    HW_ASSIGN_OR_RETURN(CheckpointManifest manifest, read_checkpoint_manifest(fs, *own));
    weights.meta_ = std::move(manifest.meta);
  }
  auto source = open_weights(fs, path);
  if (source) {
    HW_RETURN_IF_ERROR(weights.add(fs, *std::move(source), "", config));
  } else if (fs.exists(join_path(path, "discriminator")) &&
             fs.exists(join_path(path, "generator"))) {
    HW_RETURN_IF_ERROR(weights.merge_pair(fs, path));
  } else {
    return tl::unexpected<Error>(std::move(source).error());
  }
  HW_RETURN_IF_ERROR(weights.read_step());
  return weights;
}

Result<> ModelWeights::merge_pair(FileSystem& fs, const std::string& path) {
  for (const std::string_view scope : {kDiscriminator, kGenerator}) {
    const std::string directory = join_path(path, scope.substr(0, scope.size() - 1));
    HW_ASSIGN_OR_RETURN(auto source, open_weights(fs, directory));
    HW_RETURN_IF_ERROR(add(fs, std::move(source), std::string(scope), ""));
    const Architecture architecture = networks_.back().model.architecture;
    const Architecture wanted = scope == kDiscriminator ? Architecture::kElectraForPreTraining
                                                        : Architecture::kElectraForMaskedLM;
    if (architecture != wanted) {
      return fail(Code::kInvalidArgument, "{} holds an {}, not an {}", directory,
                  architecture_name(architecture), architecture_name(wanted));
    }
  }
  family_ = NameFamily::kElectraPair;
  return drop_shared_tables();
}

// Adds a source's networks and tensors, under `scope` where the pair stands in two sources.
Result<> ModelWeights::add(FileSystem& fs, std::unique_ptr<WeightsSource> source,
                           const std::string& scope, const std::string& config) {
  const std::string where = source->path();
  for (const std::string& note : source->notes()) notes_.push_back(note);
  HW_ASSIGN_OR_RETURN(DetectedCheckpoint detected, detect_checkpoint(named_shapes(*source), where));
  dialect_ = detected.dialect;
  family_ = detected.family;
  std::string config_path = config;
  if (config.empty() && detected.networks.size() == 1) {
    const std::string beside = join_path(directory_of(fs, where), "config.json");
    if (fs.exists(beside)) config_path = beside;
  }
  for (const DetectedNetwork& network : detected.networks) {
    HW_ASSIGN_OR_RETURN(Network described, describe(fs, network, where, config_path));
    described.scope = scope + network.scope;
    networks_.push_back(std::move(described));
  }
  using Role = DetectedTensor::Role;
  // A file may hold one tensor under two names of parameters: the networks of a pair share tables.
  const auto repeats_parameter = [&](size_t i) {
    const auto first = source->find(source->entries()[i].tied_to);
    return first && detected.tensors[*first].role == Role::kParameter;
  };
  for (size_t i = 0; i < detected.tensors.size(); ++i) {
    DetectedTensor& tensor = detected.tensors[i];
    if (repeats_parameter(i)) tensor.role = Role::kTied;
    switch (tensor.role) {
      case Role::kParameter:
      case Role::kMoment: break;
      case Role::kTied: left_.tied.push_back(tensor.name); continue;
      case Role::kBuffer: left_.buffers.push_back(tensor.name); continue;
      case Role::kStep: left_.steps.push_back(tensor.name); continue;
      case Role::kUnknown: left_.unknown.push_back(tensor.name); continue;
    }
    const bool moment = tensor.role == Role::kMoment;
    left_.moments += moment ? 1 : 0;
    const auto [it, added] = items_.emplace(
        scope + tensor.canonical,
        Item{sources_.size(), i, std::move(tensor.shape), tensor.tf.transpose, moment});
    if (!added) {
      return fail(Code::kDataLoss, "{}: {} and {} are the same parameter", where, tensor.name,
                  entry(it->second).name);
    }
  }
  sources_.push_back(std::move(source));
  return {};
}

// A network as its config.json has it, else as our own checkpoint, else as the weights show it.
Result<ModelWeights::Network> ModelWeights::describe(FileSystem& fs, const DetectedNetwork& network,
                                                     const std::string& where,
                                                     const std::string& config) const {
  Network described{network.scope, network.model, network.heads_assumed, directory_of(fs, where)};
  std::optional<Json> said;
  if (!config.empty()) {
    HW_ASSIGN_OR_RETURN(const std::string text, read_file(fs, config, kConfigLimit));
    HW_ASSIGN_OR_RETURN(said, parse_json(text, config));
  } else {
    HW_ASSIGN_OR_RETURN(said, saved_model(meta_, path_, network.scope));
  }
  if (!said) return described;
  HW_ASSIGN_OR_RETURN(described.model,
                      reconcile(network, *said, config.empty() ? path_ : config, where));
  described.heads_assumed = false;
  return described;
}

// Two directories each have the tables; where they are equal, the pair shares them.
Result<> ModelWeights::drop_shared_tables() {
  std::vector<std::string> shared;
  for (const auto& [name, item] : items_) {
    if (!name.starts_with(std::string(kGenerator).append(kTables)) || item.moment) continue;
    const auto other =
        items_.find(std::string(kDiscriminator).append(name.substr(kGenerator.size())));
    if (other == items_.end() || other->second.shape != item.shape) return {};
    HW_ASSIGN_OR_RETURN(const WeightBytes a, read_bytes(item));
    HW_ASSIGN_OR_RETURN(const WeightBytes b, read_bytes(other->second));
    if (!std::ranges::equal(a.bytes(), b.bytes())) return {};
    shared.push_back(name);
  }
  for (const std::string& name : shared) items_.erase(name);
  return {};
}

// From the checkpoint itself, else from its name.
Result<> ModelWeights::read_step() {
  for (const auto& source : sources_) {
    for (const auto& [key, value] : source->metadata()) {
      int64_t step = 0;
      const auto parsed = std::from_chars(value.data(), value.data() + value.size(), step);
      if (key == "step" && parsed.ec == std::errc()) step_ = step;
    }
    if (const auto index = source->find("global_step")) {
      const WeightEntry& entry = source->entries()[*index];
      if (!entry.shape.empty() || !has_values(entry.type)) continue;
      HW_ASSIGN_OR_RETURN(const WeightBytes bytes, source->read_bytes(*index));
      double value = 0;
      decode_values(entry.type, bytes.bytes(), {&value, 1});
      if (value >= 0 && value < 0x1p53) step_ = static_cast<int64_t>(value);
    }
  }
  if (!step_) step_ = step_in_name(sources_.front()->path());
  return {};
}

const ModelWeights::Item* ModelWeights::find(const Network& network, std::string_view name) const {
  const auto at = [&](std::string_view scope) -> const Item* {
    const auto it = items_.find(std::string(scope).append(name));
    return it == items_.end() ? nullptr : &it->second;
  };
  const Item* const own = at(network.scope);
  if (own != nullptr || network.scope.empty() || !name.starts_with(kBody)) return own;
  // Tables or a body are shared as a whole: a hole in the network's own ones stays one.
  const std::string part =
      network.scope + std::string(name.starts_with(kTables) ? kTables : kEncoder);
  const auto first = items_.lower_bound(part);
  if (first != items_.end() && first->first.starts_with(part)) return nullptr;
  return at(network.scope == kDiscriminator ? kGenerator : kDiscriminator);
}

Result<WeightBytes> ModelWeights::read_bytes(const Item& item, bool transpose) const {
  HW_ASSIGN_OR_RETURN(WeightBytes bytes, sources_[item.source]->read_bytes(item.entry));
  if (item.transposed == transpose || item.shape.size() != 2) return bytes;
  // What is in the file is [rows, columns] of the shape that it has there.
  const int64_t rows = item.transposed ? item.shape[1] : item.shape[0];
  const int64_t columns = item.transposed ? item.shape[0] : item.shape[1];
  AlignedBuffer turned(static_cast<int64_t>(bytes.bytes().size()));
  transpose_bytes(bytes.bytes().data(), turned.data(), rows, columns,
                  element_bytes(entry(item).type));
  return WeightBytes(std::move(turned));
}

Result<Tensor> ModelWeights::read(const Item& item) const {
  const WeightEntry& file = entry(item);
  if (!has_values(file.type)) {
    return fail(Code::kInvalidArgument, "{}: {} is of type {}, which no model computes with",
                sources_[item.source]->path(), file.name, element_name(file.type));
  }
  HW_ASSIGN_OR_RETURN(const WeightBytes bytes, read_bytes(item));
  Tensor tensor(DType::kF32, item.shape);
  if (tensor.size() == 0) return tensor;
  if (file.type == ElementType::kF32) {
    std::memcpy(tensor.data(), bytes.bytes().data(), bytes.bytes().size());
    return tensor;
  }
  std::vector<double> values(static_cast<size_t>(tensor.size()));
  decode_values(file.type, bytes.bytes(), values);
  std::ranges::transform(values, tensor.as<float>().begin(),
                         [](double value) { return static_cast<float>(value); });
  return tensor;
}

Result<TrainState> ModelWeights::state() const {
  TrainState state;
  state.step = step_.value_or(0);
  state.meta = meta_;
  for (const auto& [name, item] : items_) {
    HW_ASSIGN_OR_RETURN(Tensor tensor, read(item));
    (item.moment ? state.slots : state.parameters).push_back({name, std::move(tensor)});
  }
  for (const Network& network : networks_) {
    HW_ASSIGN_OR_RETURN(const ParameterTypes types, parameter_types(network.model));
    const std::string_view other = network.scope == kDiscriminator ? kGenerator : kDiscriminator;
    for (const ParameterType& parameter : types.parameters) {
      const std::string own = network.scope + parameter.name;
      if (!items_.contains(own) && find(network, parameter.name) != nullptr)
        state.aliases.emplace(own, std::string(other).append(parameter.name));
    }
  }
  return state;
}

}  // namespace headwater
