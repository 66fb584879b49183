#include "generate/text.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "checkpoints/model_weights.h"
#include "checkpoints/native.h"
#include "text/utf8.h"
#include "tokens/text_stream.h"

namespace headwater {
namespace {

constexpr int64_t kConfigLimit = int64_t{16} << 20;  // bytes

// The network that generates; where there is none, the first one, for the generator to refuse.
const ModelWeights::Network& generating_network(const ModelWeights& weights) {
  const auto found = std::ranges::find_if(weights.networks(), [](const auto& network) {
    return std::holds_alternative<Gpt2Config>(network.model.config);
  });
  return found == weights.networks().end() ? weights.networks().front() : *found;
}

Result<> load_parameters(const ModelWeights& weights, const ModelWeights::Network& network,
                         StateStore& store) {
  HW_ASSIGN_OR_RETURN(const ParameterTypes types, parameter_types(network.model));
  for (const ParameterType& parameter : types.parameters) {
    const ModelWeights::Item* const item = weights.find(network, parameter.name);
    if (item == nullptr || item->shape != parameter.type.shape) {
      return fail(Code::kFailedPrecondition, "{} has no {} {}", weights.path(), parameter.name,
                  shape_text(parameter.type.shape));
    }
    HW_ASSIGN_OR_RETURN(const Tensor tensor, weights.read(*item));
    HW_RETURN_IF_ERROR(store.set(parameter.name, tensor));
  }
  return {};
}

// Of a checkpoint of ours also the run's own folder: its files belong to all checkpoints.
Result<AnyTokenizer> find_tokenizer(FileSystem& fs, const ModelWeights& weights,
                                    const std::string& folder) {
  std::vector<std::string> folders = {folder};
  if (find_checkpoint(fs, folder)) folders.push_back(join_path(folder, ".."));
  for (const std::string& candidate : folders) {
    for (const char* name : {"tokenizer.json", "vocab.json", "encoder.json", "vocab.txt"}) {
      if (fs.exists(join_path(candidate, name))) return AnyTokenizer::open(fs, candidate);
    }
  }
  return fail_hint(Code::kNotFound, "name it with --tokenizer",
                   "{} has no tokenizer with it (tokenizer.json, vocab.json and merges.txt, or "
                   "vocab.txt)",
                   weights.path());
}

// What a config says under a key: one token, several, or nothing.
std::vector<int32_t> tokens_of(const Json& config, const char* key) {
  std::vector<int32_t> tokens;
  const auto found = config.is_object() ? config.find(key) : config.end();
  if (found == config.end()) return tokens;
  const auto add = [&](const Json& value) {
    if (!value.is_number_integer()) return;
    const auto id = value.get<int64_t>();
    if (id >= 0 && id <= INT32_MAX) tokens.push_back(static_cast<int32_t>(id));
  };
  if (found->is_array()) std::ranges::for_each(*found, add);
  else add(*found);
  return tokens;
}

Result<> find_special_tokens(FileSystem& fs, const std::string& folder, TextModel& text) {
  std::vector<Json> configs;
  if (const std::string path = join_path(folder, "generation_config.json"); fs.exists(path)) {
    HW_ASSIGN_OR_RETURN(const std::string content, read_file(fs, path, kConfigLimit));
    HW_ASSIGN_OR_RETURN(Json config, parse_json(content, path));
    configs.push_back(std::move(config));
  }
  configs.push_back(text.model.to_hf_json());
  std::vector<int32_t> start;
  for (const Json& config : configs) {
    if (start.empty()) start = tokens_of(config, "bos_token_id");
    if (text.stop_tokens.empty()) text.stop_tokens = tokens_of(config, "eos_token_id");
  }
  const std::optional<int32_t> end = text.tokenizer.end_of_text();
  if (end && start.empty()) start = {*end};
  if (end && text.stop_tokens.empty()) text.stop_tokens = {*end};
  if (!start.empty()) text.start_token = start.front();
  return {};
}

}  // namespace

Result<TextModel> TextModel::open(FileSystem& fs, const std::string& path,
                                  const std::string& tokenizer, const DeviceOptions& device) {
  HW_ASSIGN_OR_RETURN(const ModelWeights weights, ModelWeights::open(fs, path));
  const ModelWeights::Network& network = generating_network(weights);
  HW_RETURN_IF_ERROR(Generator::check_model(network.model));
  HW_ASSIGN_OR_RETURN(auto executor, device.open());
  auto store = executor->make_store();
  HW_RETURN_IF_ERROR(load_parameters(weights, network, *store));
  HW_ASSIGN_OR_RETURN(AnyTokenizer words, tokenizer.empty()
                                              ? find_tokenizer(fs, weights, network.directory)
                                              : AnyTokenizer::open(fs, tokenizer));
  TextModel text{network.model,    std::move(words), std::move(executor),
                 std::move(store), std::nullopt,     {},
                 weights.notes()};
  if (network.heads_assumed) {
    text.notes.emplace_back(
        "the weights do not show the number of attention heads: 64 wide each is assumed (a "
        "config.json beside them says it)");
  }
  HW_RETURN_IF_ERROR(find_special_tokens(fs, network.directory, text));
  return text;
}

Result<std::vector<int32_t>> prompt_ids(const AnyTokenizer& tokenizer, std::string_view prompt,
                                        std::optional<int32_t> start_token) {
  if (const auto invalid = first_invalid_utf8(prompt)) {
    return fail_hint(Code::kInvalidArgument,
                     "convert it first (Korean text is often cp949: iconv -f cp949 -t utf-8)",
                     "the prompt is not UTF-8 at byte {}", *invalid);
  }
  std::vector<int32_t> ids;
  tokenizer.append_ids(prompt, ids);
  if (ids.empty() && start_token) ids.push_back(*start_token);
  if (!ids.empty()) return ids;
  return fail_hint(Code::kInvalidArgument, "give it some text to continue",
                   "the prompt is empty, and neither config.json nor the tokenizer has a token to "
                   "begin with");
}

Result<GeneratedTexts> generate_text(Generator& generator, const AnyTokenizer& tokenizer,
                                     std::span<const int32_t> prompt,
                                     const GenerateOptions& options, Key key,
                                     const TextSink& sink) {
  GeneratedTexts result;
  result.texts.resize(static_cast<size_t>(generator.batch_size()));
  std::vector<TextStream> streams(result.texts.size(), TextStream(tokenizer));
  for (TextStream& stream : streams) {  // pieces join on to the prompt
    for (const int32_t id : prompt) {
      if (id >= tokenizer.size()) continue;
      HW_ASSIGN_OR_RETURN([[maybe_unused]] const std::string known, stream.add(id));
    }
  }
  const auto put = [&](int64_t sequence, const std::string& piece) -> Result<> {
    result.texts[static_cast<size_t>(sequence)].text += piece;
    return sink && !piece.empty() ? sink(sequence, piece) : Result<>();
  };
  GenerateOptions known = options;
  known.token_count = tokenizer.size();
  HW_ASSIGN_OR_RETURN(
      Generated generated,
      generate(generator, prompt, known, key, [&](int64_t sequence, int32_t token) -> Result<> {
        HW_ASSIGN_OR_RETURN(const std::string piece,
                            streams[static_cast<size_t>(sequence)].add(token));
        return put(sequence, piece);
      }));
  for (size_t i = 0; i < streams.size(); ++i) {
    HW_RETURN_IF_ERROR(put(static_cast<int64_t>(i), streams[i].finish()));
    result.texts[i].ids = std::move(generated.sequences[i].ids);
    result.texts[i].stopped = generated.sequences[i].stopped;
  }
  result.prompt_seconds = generated.prompt_seconds;
  result.new_seconds = generated.new_seconds;
  return result;
}

}  // namespace headwater
