#include "checkpoints/convert.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>

#include "checkpoints/element_values.h"
#include "checkpoints/export_meta.h"
#include "checkpoints/hf_directory.h"
#include "checkpoints/hf_tokenizer.h"
#include "checkpoints/native.h"
#include "checkpoints/tf_bundle_writer.h"
#include "models/name_rules.h"

namespace headwater {
namespace {

using Item = ModelWeights::Item;
using Network = ModelWeights::Network;

constexpr std::array<std::pair<std::string_view, WeightsFormat>, 4> kFormats = {
    {{"tf", WeightsFormat::kTensorFlow},
     {"hf", WeightsFormat::kHuggingFace},
     {"hf-bin", WeightsFormat::kHuggingFaceBin},
     {"native", WeightsFormat::kNative}}};
// Tokenizer files of Hugging Face's, which are carried over as they are.
constexpr std::array kTokenizerFiles = {
    "vocab.txt",  "tokenizer.json",          "vocab.json",       "tokenizer_config.json",
    "merges.txt", "special_tokens_map.json", "added_tokens.json"};
constexpr int64_t kTokenizerFileLimit = int64_t{256} << 20;  // bytes

class Conversion {
 public:
  Conversion(FileSystem& fs, const ModelWeights& weights, const ConvertOptions& options)
      : fs_(fs), weights_(weights), options_(options) {}

  Result<ConvertReport> run() {
    HW_RETURN_IF_ERROR(check_place());
    HW_RETURN_IF_ERROR(check_complete());
    switch (options_.to) {
      case WeightsFormat::kTensorFlow: HW_RETURN_IF_ERROR(to_tensorflow()); break;
      case WeightsFormat::kHuggingFace:
      case WeightsFormat::kHuggingFaceBin: HW_RETURN_IF_ERROR(to_hugging_face()); break;
      case WeightsFormat::kNative: HW_RETURN_IF_ERROR(to_native()); break;
    }
    report_.moments_dropped = weights_.left().moments - report_.moments;
    return std::move(report_);
  }

 private:
  Result<> check_place() const {
    if (options_.output_dir == weights_.path() ||
        options_.output_dir == directory_name(weights_.path())) {
      return fail_hint(Code::kInvalidArgument, "name another --output-dir",
                       "{} is where the input stands", options_.output_dir);
    }
    return check_output_directory(fs_, options_.output_dir, options_.overwrite);
  }

  // What keeps a parameter of a network from being taken; empty when nothing does.
  std::string problem_with(const Network& network, const ParameterType& wanted) const {
    const Item* const item = weights_.find(network, wanted.name);
    if (item == nullptr) return "is missing";
    if (item->shape != wanted.type.shape) {
      return fmt::format("is {}, not {}", shape_text(item->shape), shape_text(wanted.type.shape));
    }
    const ElementType type = weights_.entry(*item).type;
    return is_floating(type) ? "" : fmt::format("is of type {}", element_name(type));
  }

  // All that the networks need is there, in their shapes.
  Result<> check_complete() const {
    constexpr int64_t kShown = 8;
    std::string problems;
    int64_t count = 0;
    for (const Network& network : weights_.networks()) {
      HW_ASSIGN_OR_RETURN(const ParameterTypes types, parameter_types(network.model));
      for (const ParameterType& wanted : types.parameters) {
        const std::string problem = problem_with(network, wanted);
        if (problem.empty() || ++count > kShown) continue;
        problems += fmt::format("{}{}{} {}", problems.empty() ? "" : "; ", network.scope,
                                wanted.name, problem);
      }
    }
    if (count == 0) return {};
    if (count > kShown) problems += fmt::format("; and {} more", count - kShown);
    return fail(Code::kFailedPrecondition, "{} is not complete: {}", weights_.path(), problems);
  }

  void note_tensor(const Item& item, std::string to, Shape to_shape, bool transposed) {
    const WeightEntry& from = weights_.entry(item);
    if (item.moment) {
      ++report_.moments;
    } else {
      report_.tensors.push_back(
          {from.name, std::move(to), from.shape, std::move(to_shape), transposed});
      report_.parameters += from.elements();
    }
    report_.bytes += from.bytes;
  }

  Result<> to_tensorflow() {
    const NameRules rules(weights_.family());
    struct Target {
      const Item* item;  // null: the step
      TfMapping mapping;
      Shape shape;
    };
    std::map<std::string, Target> targets;  // TensorFlow adds them in this order
    for (const auto& [name, item] : weights_.items()) {
      if (item.moment && !options_.slots) continue;
      const auto mapping = rules.to_tf(name);
      if (!mapping) {
        return fail(Code::kUnimplemented, "{} has no name in TensorFlow's checkpoints", name);
      }
      HW_ASSIGN_OR_RETURN(Shape shape, tf_shape(*mapping, item.shape));
      targets.emplace(mapping->name, Target{&item, *mapping, std::move(shape)});
    }
    if (weights_.step()) targets.emplace("global_step", Target{nullptr, {}, {}});
    const int64_t step = weights_.step().value_or(0);
    const std::string prefix = join_path(options_.output_dir, fmt::format("model.ckpt-{}", step));
    HW_RETURN_IF_ERROR(fs_.make_directories(options_.output_dir));
    HW_ASSIGN_OR_RETURN(TfBundleWriter writer, TfBundleWriter::create(fs_, prefix));
    for (const auto& [name, target] : targets) {
      if (target.item == nullptr) {
        const auto bytes = std::bit_cast<std::array<uint8_t, 8>>(step);
        HW_RETURN_IF_ERROR(writer.add(name, ElementType::kI64, target.shape, bytes));
        continue;
      }
      HW_ASSIGN_OR_RETURN(const WeightBytes bytes,
                          weights_.read_bytes(*target.item, target.mapping.transpose));
      HW_RETURN_IF_ERROR(
          writer.add(name, weights_.entry(*target.item).type, target.shape, bytes.bytes()));
      note_tensor(*target.item, name, target.shape,
                  target.item->transposed != target.mapping.transpose);
    }
    HW_RETURN_IF_ERROR(writer.commit());
    HW_RETURN_IF_ERROR(write_tf_state(fs_, prefix));
    report_.outputs.push_back(prefix);
    return {};
  }

  Result<> to_hugging_face() {
    for (const Network& network : weights_.networks()) {
      HW_RETURN_IF_ERROR(write_network(network));
    }
    return {};
  }

  Result<> write_network(const Network& network) {
    HW_ASSIGN_OR_RETURN(const ParameterTypes types, parameter_types(network.model));
    HfDirectory directory;
    directory.path = options_.output_dir;
    if (!network.scope.empty()) {
      directory.path = join_path(directory.path, network.scope.substr(0, network.scope.size() - 1));
    }
    directory.bin = options_.to == WeightsFormat::kHuggingFaceBin;
    directory.overwrite = options_.overwrite;
    for (const ParameterType& parameter : types.parameters) {
      const Item& item = *weights_.find(network, parameter.name);
      directory.tensors.push_back(
          {parameter.name, weights_.entry(item).type, parameter.type.shape});
      note_tensor(item, parameter.name, parameter.type.shape, item.transposed);
    }
    directory.tied = {types.aliases.begin(), types.aliases.end()};
    HW_RETURN_IF_ERROR(add_files(network, directory));
    const auto produce = [&](const TensorPlan& tensor, ByteSink& sink) -> Result<> {
      HW_ASSIGN_OR_RETURN(const WeightBytes bytes,
                          weights_.read_bytes(*weights_.find(network, tensor.name)));
      return sink.write(bytes.bytes());
    };
    HW_RETURN_IF_ERROR(write_hf_directory(fs_, directory, produce));
    report_.outputs.push_back(directory.path);
    return {};
  }

  // config.json, and the tokenizer's files: those of the source, else made from the vocabulary.
  Result<> add_files(const Network& network, HfDirectory& directory) {
    for (const char* name : kTokenizerFiles) {
      const std::string path = join_path(network.directory, name);
      if (options_.vocabulary != nullptr || !fs_.exists(path)) continue;
      HW_ASSIGN_OR_RETURN(std::string text, read_file(fs_, path, kTokenizerFileLimit));
      directory.files.emplace_back(name, std::move(text));
    }
    Json config = network.model.to_hf_json();
    if (options_.vocabulary != nullptr) {
      const Vocabulary& vocabulary = *options_.vocabulary;
      if (vocabulary.size() > network.model.vocab_size()) {
        return fail_hint(Code::kInvalidArgument, "name the vocabulary the model was trained with",
                         "{} has {} tokens, the model has rows for {}", vocabulary.name(),
                         vocabulary.size(), network.model.vocab_size());
      }
      HW_ASSIGN_OR_RETURN(const SpecialIds special, vocabulary.special_ids());
      config["pad_token_id"] = special.pad;
      HW_ASSIGN_OR_RETURN(HfTokenizerFiles made, hf_tokenizer_files(vocabulary, options_.tokenizer,
                                                                    network.model.max_positions()));
      directory.files = std::move(made.files);
      report_.notes.insert(report_.notes.end(), made.notes.begin(), made.notes.end());
    } else if (directory.files.empty()) {
      report_.notes.push_back(
          "no tokenizer files beside the weights: give --vocab-file to have them made");
    }
    directory.files.emplace_back("config.json", dump_json(config, 2) + "\n");
    return {};
  }

  Result<> to_native() {
    HW_ASSIGN_OR_RETURN(TrainState state, weights_.state());
    if (!options_.slots) state.slots.clear();
    scope_single_network(state);
    Json meta = Json::object();
    ExportMeta networks;
    for (const Network& network : weights_.networks()) {
      const auto* const electra = std::get_if<ElectraConfig>(&network.model.config);
      if (electra == nullptr) meta["model"] = network.model.to_hf_json();
      else if (network.model.architecture == Architecture::kElectraForMaskedLM)
        networks.generator = *electra;
      else networks.discriminator = *electra;
    }
    if (networks.generator || networks.discriminator) put_export_meta(meta, networks);
    state.meta = dump_json(meta);
    HW_ASSIGN_OR_RETURN(const std::string path,
                        save_checkpoint(fs_, options_.output_dir, state, 0));
    for (const auto& [name, item] : weights_.items()) {
      if (!item.moment || options_.slots) note_tensor(item, name, item.shape, item.transposed);
    }
    report_.outputs.push_back(path);
    return {};
  }

  // In a training state of ours an ELECTRA network stands under its scope even when it is alone.
  void scope_single_network(TrainState& state) const {
    const Network& network = weights_.networks().front();
    std::string scope;
    if (network.model.architecture == Architecture::kElectraForPreTraining)
      scope = "discriminator.";
    else if (network.model.architecture == Architecture::kElectraForMaskedLM) scope = "generator.";
    if (scope.empty() || !network.scope.empty()) return;
    for (auto* tensors : {&state.parameters, &state.slots}) {
      for (NamedTensor& tensor : *tensors) tensor.name = scope + tensor.name;
    }
  }

  FileSystem& fs_;
  const ModelWeights& weights_;
  const ConvertOptions& options_;
  ConvertReport report_;
};

}  // namespace

std::optional<WeightsFormat> find_weights_format(std::string_view name) {
  const auto found =
      std::ranges::find(kFormats, name, &std::pair<std::string_view, WeightsFormat>::first);
  return found == kFormats.end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::string> weights_format_names() {
  std::vector<std::string> names;
  names.reserve(std::size(kFormats));
  for (const auto& [name, format] : kFormats) names.emplace_back(name);
  return names;
}

Result<ConvertReport> convert_weights(FileSystem& fs, const ModelWeights& weights,
                                      const ConvertOptions& options) {
  return Conversion(fs, weights, options).run();
}

}  // namespace headwater
