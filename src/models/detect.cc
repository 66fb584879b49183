#include "models/detect.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

namespace headwater {
namespace {

using Role = DetectedTensor::Role;

constexpr int64_t kHeadSize = 64;
constexpr int64_t kTooManyLayers = 1 << 20;  // for any configuration

// What TensorFlow's optimizers keep beside the variables.
constexpr std::array kSteps = {"global_step", "beta1_power", "beta2_power"};

struct Candidate {
  NameDialect dialect;
  NameFamily family;
};
// Of candidates that know equally many names the first is taken: one network before the pair.
constexpr std::array kCandidates = {
    Candidate{NameDialect::kTensorFlow, NameFamily::kElectraDiscriminator},
    Candidate{NameDialect::kTensorFlow, NameFamily::kElectraGenerator},
    Candidate{NameDialect::kTensorFlow, NameFamily::kElectraClassifier},
    Candidate{NameDialect::kTensorFlow, NameFamily::kElectraPair},
    Candidate{NameDialect::kTensorFlow, NameFamily::kBert},
    Candidate{NameDialect::kTensorFlow, NameFamily::kGpt2},
    Candidate{NameDialect::kNative, NameFamily::kElectraPair},
    Candidate{NameDialect::kHuggingFace, NameFamily::kElectraDiscriminator},
    Candidate{NameDialect::kHuggingFace, NameFamily::kElectraGenerator},
    Candidate{NameDialect::kHuggingFace, NameFamily::kElectraClassifier},
    Candidate{NameDialect::kHuggingFace, NameFamily::kBert},
    Candidate{NameDialect::kHuggingFace, NameFamily::kGpt2},
};

bool is_moment(std::string_view canonical) { return canonical.find('#') != std::string::npos; }

DetectedTensor classify_tf(const NameRules& rules, const NamedShape& named) {
  DetectedTensor tensor{named.name, Role::kUnknown, {}, named.shape, {}};
  if (const auto mapped = rules.from_tf(named.name)) {
    // A shape of another rank keeps its place: it is reported where the sizes are read.
    if (auto shape = canonical_shape(*mapped, named.shape)) tensor.shape = *std::move(shape);
    tensor.role = mapped->slots ? Role::kMoment : Role::kParameter;
    tensor.canonical = mapped->name;
    tensor.tf = *mapped;
  } else if (std::ranges::find(kSteps, named.name) != kSteps.end()) {
    tensor.role = Role::kStep;
  }
  return tensor;
}

DetectedTensor classify_hf(const NameRules& rules, const NamedShape& named) {
  DetectedTensor tensor{named.name, Role::kUnknown, {}, named.shape, {}};
  const auto mapped = rules.from_hf(named.name);
  if (!mapped) return tensor;
  tensor.canonical = mapped->name;
  switch (mapped->kind) {
    case HfMapping::Kind::kTied: tensor.role = Role::kTied; break;
    case HfMapping::Kind::kBuffer: tensor.role = Role::kBuffer; break;
    case HfMapping::Kind::kParameter:
      tensor.role = is_moment(mapped->name) ? Role::kMoment : Role::kParameter;
      break;
  }
  return tensor;
}

DetectedCheckpoint classify(const Candidate& candidate, std::span<const NamedShape> tensors) {
  const NameRules rules(candidate.family);
  DetectedCheckpoint checkpoint{candidate.dialect, candidate.family, {}, {}, {}};
  for (const NamedShape& named : tensors) {
    DetectedTensor tensor = candidate.dialect == NameDialect::kTensorFlow
                                ? classify_tf(rules, named)
                                : classify_hf(rules, named);
    if (tensor.role == Role::kMoment)
      checkpoint.slots = tensor.tf.slots.value_or(SlotStyle::kAdamWeightDecay);
    checkpoint.tensors.push_back(std::move(tensor));
  }
  return checkpoint;
}

// A size read from one axis of a tensor.
struct Measure {
  std::string_view key, tensor;
  size_t axis;
};
constexpr Measure kEncoderMeasures[] = {
    {"vocab_size", "embeddings.word_embeddings.weight", 0},
    {"embedding_size", "embeddings.word_embeddings.weight", 1},
    {"max_position_embeddings", "embeddings.position_embeddings.weight", 0},
    {"type_vocab_size", "embeddings.token_type_embeddings.weight", 0},
    {"hidden_size", "encoder.layer.0.attention.self.query.weight", 0},
    {"intermediate_size", "encoder.layer.0.intermediate.dense.weight", 0},
};
constexpr Measure kGpt2Measures[] = {
    {"vocab_size", "wte.weight", 0},
    {"n_embd", "wte.weight", 1},
    {"n_positions", "wpe.weight", 0},
    {"n_inner", "h.0.mlp.c_fc.weight", 1},
};

// What is read of a family, and under which words.
struct FamilyWords {
  std::string_view prefix;  // of the body's names
  std::span<const Measure> measures;
  std::string_view layers;  // before a layer's number
  const char *num_layers, *width, *heads;
};
FamilyWords words_of(Architecture architecture) {
  const std::string_view type = model_type(architecture);
  if (type == "gpt2")
    return {"transformer.", kGpt2Measures, "transformer.h.", "n_layer", "n_embd", "n_head"};
  const bool electra = type == "electra";
  return {electra ? "electra." : "bert.",
          kEncoderMeasures,
          electra ? "electra.encoder.layer." : "bert.encoder.layer.",
          "num_hidden_layers",
          "hidden_size",
          "num_attention_heads"};
}

// The largest layer number, and a tensor of that layer.
struct LastLayer {
  int64_t number = -1;
  const DetectedTensor* tensor = nullptr;
};
LastLayer last_layer(const NetworkTensors& found, std::string_view prefix) {
  LastLayer last;
  for (auto it = found.lower_bound(prefix); it != found.end() && it->first.starts_with(prefix);
       ++it) {
    const char* const begin = it->first.data() + prefix.size();
    int64_t number = -1;
    std::from_chars(begin, it->first.data() + it->first.size(), number);
    number = std::min(number, kTooManyLayers);
    if (number > last.number) last = {number, it->second};
  }
  return last;
}

Result<SizeEvidence> measure(const NetworkTensors& found, std::string_view key,
                             std::string_view name, size_t axis, std::string_view where) {
  const auto it = found.find(name);
  if (it == found.end())
    return fail(Code::kNotFound, "{} lacks {}, which shows {}", where, name, key);
  const DetectedTensor& tensor = *it->second;
  if (tensor.shape.size() != 2)
    return fail(Code::kInvalidArgument, "{}: {} is {}, not a matrix", where, tensor.name,
                shape_text(tensor.shape));
  return SizeEvidence{std::string(key), tensor.shape[axis], tensor.name, tensor.shape};
}

// Heads of kHeadSize where that divides the width, else one.
int64_t assumed_heads(int64_t width) { return width % kHeadSize == 0 ? width / kHeadSize : 1; }

Result<DetectedNetwork> read_network(Architecture architecture, std::string scope,
                                     const NetworkTensors& found, std::string_view where) {
  const FamilyWords words = words_of(architecture);
  DetectedNetwork network{std::move(scope), {}, true, {}};
  Json config = Json::object();
  config["model_type"] = std::string(model_type(architecture));
  config["architectures"] = Json::array({std::string(architecture_name(architecture))});
  for (const Measure& m : words.measures) {
    HW_ASSIGN_OR_RETURN(
        SizeEvidence evidence,
        measure(found, m.key, std::string(words.prefix).append(m.tensor), m.axis, where));
    config[evidence.key] = evidence.value;
    network.evidence.push_back(std::move(evidence));
  }
  if (model_type(architecture) == "bert") config.erase("embedding_size");
  const LastLayer last = last_layer(found, words.layers);
  config[words.num_layers] = last.number + 1;
  network.evidence.push_back(
      {words.num_layers, last.number + 1, last.tensor->name, last.tensor->shape});
  config[words.heads] = assumed_heads(config[words.width].get<int64_t>());
  if (config.contains("n_inner") && config["n_inner"].get<int64_t>() % 4 == 0 &&
      config["n_inner"].get<int64_t>() / 4 == config["n_embd"].get<int64_t>())
    config["n_inner"] = nullptr;  // as the family's configurations have it
  HW_ASSIGN_OR_RETURN(network.model, Model::from_hf_json(config, where));
  if (!has_labels(architecture)) return network;
  const char* const head = architecture == Architecture::kElectraForSequenceClassification
                               ? "classifier.out_proj.weight"
                               : "classifier.weight";
  HW_ASSIGN_OR_RETURN(SizeEvidence labels, measure(found, "num_labels", head, 0, where));
  if (labels.value < 1)
    return fail(Code::kInvalidArgument, "{}: {} has no labels", where, labels.tensor);
  network.model.classifier.num_labels = labels.value;
  network.evidence.push_back(std::move(labels));
  return network;
}

Architecture bert_architecture(const NetworkTensors& found) {
  if (found.contains("cls.seq_relationship.weight")) return Architecture::kBertForPreTraining;
  if (found.contains("cls.predictions.transform.dense.weight"))
    return Architecture::kBertForMaskedLM;
  if (found.contains("qa_outputs.weight")) return Architecture::kBertForQuestionAnswering;
  if (!found.contains("classifier.weight")) return Architecture::kBertModel;
  return found.contains("bert.pooler.dense.weight") ? Architecture::kBertForSequenceClassification
                                                    : Architecture::kBertForTokenClassification;
}

Architecture electra_classifier(const NetworkTensors& found) {
  if (found.contains("qa_outputs.weight")) return Architecture::kElectraForQuestionAnswering;
  return found.contains("classifier.weight") ? Architecture::kElectraForTokenClassification
                                             : Architecture::kElectraForSequenceClassification;
}

NetworkTensors parameters_of(const DetectedCheckpoint& checkpoint) {
  NetworkTensors found;
  for (const DetectedTensor& tensor : checkpoint.tensors) {
    if (tensor.role == Role::kParameter) found.emplace(tensor.canonical, &tensor);
  }
  return found;
}

Result<> read_pair(DetectedCheckpoint& checkpoint, std::string_view where) {
  const NetworkTensors pair = parameters_of(checkpoint);
  struct Side {
    const char *scope, *head;
    Architecture architecture;
  };
  constexpr Side kSides[] = {
      {"discriminator.", "discriminator.discriminator_predictions.dense.weight",
       Architecture::kElectraForPreTraining},
      {"generator.", "generator.generator_predictions.dense.weight",
       Architecture::kElectraForMaskedLM}};
  for (const Side& side : kSides) {
    if (!pair.contains(side.head)) continue;
    HW_ASSIGN_OR_RETURN(DetectedNetwork network,
                        read_network(side.architecture, side.scope,
                                     network_tensors(checkpoint, side.scope), where));
    checkpoint.networks.push_back(std::move(network));
  }
  if (!checkpoint.networks.empty()) return {};
  return fail(Code::kNotFound, "{} holds an ELECTRA encoder without any head", where);
}

Result<> read_networks(DetectedCheckpoint& checkpoint, std::string_view where) {
  if (checkpoint.family == NameFamily::kElectraPair) return read_pair(checkpoint, where);
  const NetworkTensors found = parameters_of(checkpoint);
  Architecture architecture = Architecture::kGpt2LMHeadModel;
  switch (checkpoint.family) {
    case NameFamily::kElectraDiscriminator:
      architecture = Architecture::kElectraForPreTraining;
      break;
    case NameFamily::kElectraGenerator: architecture = Architecture::kElectraForMaskedLM; break;
    case NameFamily::kElectraClassifier: architecture = electra_classifier(found); break;
    case NameFamily::kBert: architecture = bert_architecture(found); break;
    case NameFamily::kGpt2:
    case NameFamily::kElectraPair: break;
  }
  HW_ASSIGN_OR_RETURN(DetectedNetwork network, read_network(architecture, {}, found, where));
  checkpoint.networks.push_back(std::move(network));
  return {};
}

}  // namespace

std::string_view dialect_name(NameDialect dialect) {
  switch (dialect) {
    case NameDialect::kTensorFlow: return "TensorFlow";
    case NameDialect::kHuggingFace: return "Hugging Face";
    case NameDialect::kNative: break;
  }
  return "native";
}

std::vector<std::string> DetectedCheckpoint::unknown() const {
  std::vector<std::string> names;
  for (const DetectedTensor& tensor : tensors) {
    if (tensor.role == Role::kUnknown) names.push_back(tensor.name);
  }
  return names;
}

Result<DetectedCheckpoint> detect_checkpoint(std::span<const NamedShape> tensors,
                                             std::string_view where) {
  DetectedCheckpoint best;
  size_t most = 0;
  for (const Candidate& candidate : kCandidates) {
    DetectedCheckpoint checkpoint = classify(candidate, tensors);
    const size_t known = parameters_of(checkpoint).size();
    if (known <= most) continue;
    most = known;
    best = std::move(checkpoint);
  }
  if (most == 0) {
    return fail_hint(
        Code::kInvalidArgument,
        "ELECTRA, BERT and GPT-2 are known, by the names of google, OpenAI and Hugging "
        "Face",
        "{} holds no model that is known: {}", where,
        tensors.empty() ? "it is empty"
                        : fmt::format("its first tensor is {}", tensors.front().name));
  }
  HW_RETURN_IF_ERROR(read_networks(best, where));
  return best;
}

NetworkTensors network_tensors(const DetectedCheckpoint& checkpoint, std::string_view scope) {
  NetworkTensors all = parameters_of(checkpoint);
  if (scope.empty()) return all;
  const std::string_view other = scope == "generator." ? "discriminator." : "generator.";
  const auto has = [&](std::string_view part) {
    const std::string prefix = std::string(scope).append(part);
    const auto it = all.lower_bound(prefix);
    return it != all.end() && it->first.starts_with(prefix);
  };
  const bool own_tables = has("electra.embeddings."), own_encoder = has("electra.encoder.");
  NetworkTensors found;
  for (const auto& [name, tensor] : all) {
    if (name.starts_with(scope)) found.emplace(name.substr(scope.size()), tensor);
    if (!name.starts_with(other)) continue;
    const std::string_view rest = std::string_view(name).substr(other.size());
    const bool shared = rest.starts_with("electra.embeddings.")
                            ? !own_tables
                            : rest.starts_with("electra.") && !own_encoder;
    if (shared) found.emplace(rest, tensor);
  }
  return found;
}

Result<Model> reconcile(const DetectedNetwork& network, const Json& config_json,
                        std::string_view config_where, std::string_view checkpoint_where) {
  HW_ASSIGN_OR_RETURN(Model given, Model::from_hf_json(config_json, config_where));
  const std::string_view type = model_type(given.architecture),
                         seen_type = model_type(network.model.architecture);
  if (type != seen_type) {
    return fail(Code::kInvalidArgument, "{} is of a {} model, {} of a {} model", config_where, type,
                checkpoint_where, seen_type);
  }
  const Json sizes = given.to_hf_json();
  std::string differences;
  for (const SizeEvidence& seen : network.evidence) {
    int64_t said = 0;
    if (seen.key == "num_labels") said = given.classifier.num_labels;
    else if (seen.key == "n_inner") said = std::get<Gpt2Config>(given.config).inner_size();
    else if (sizes.contains(seen.key)) said = sizes[seen.key].get<int64_t>();
    else continue;
    if (said == seen.value) continue;
    differences +=
        fmt::format("{}{} is {} there, but {} {} says {}", differences.empty() ? "" : "; ",
                    seen.key, said, seen.tensor, shape_text(seen.shape), seen.value);
  }
  if (differences.empty()) return given;
  return fail_hint(Code::kInvalidArgument,
                   "leave the config out to take the sizes from the weights",
                   "{} contradicts {}: {}", config_where, checkpoint_where, differences);
}

}  // namespace headwater
