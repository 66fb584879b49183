#include "tokens/tokenizer_files.h"

#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "tokens/large_json.h"
#include "tokens/tokenizer_json.h"

namespace headwater {
namespace {

constexpr const char* kTokenizerJson = "tokenizer.json";
constexpr const char* kConfigJson = "tokenizer_config.json";
constexpr const char* kVocabTxt = "vocab.txt";
// Vocabulary and merges, by Hugging Face's names and by OpenAI's.
constexpr std::array<std::array<const char*, 2>, 2> kPairNames = {
    {{"vocab.json", "merges.txt"}, {"encoder.json", "vocab.bpe"}}};

// The first of the names that stands in the folder.
std::optional<std::string> find_beside(FileSystem& fs, const std::string& folder, size_t which) {
  for (const auto& names : kPairNames) {
    const std::string path = join_path(folder, names[which]);
    if (fs.exists(path)) return path;
  }
  return std::nullopt;
}

// tokenizer_config.json of the folder; an empty object where there is none.
Result<nlohmann::json> read_config(FileSystem& fs, const std::string& folder) {
  const std::string path = join_path(folder, kConfigJson);
  if (!fs.exists(path)) return nlohmann::json::object();
  HW_ASSIGN_OR_RETURN(const std::string content, read_file(fs, path, kMaxTokenizerFileBytes));
  HW_ASSIGN_OR_RETURN(nlohmann::json json, parse_large_json(content, path));
  if (!json.is_object()) return fail(Code::kInvalidArgument, "{}: not a JSON object", path);
  return json;
}

// The switches of tokenizer_config.json that are options here.
std::string options_of(const nlohmann::json& config, std::initializer_list<const char*> names) {
  nlohmann::json options = nlohmann::json::object();
  for (const char* name : names)
    if (const auto found = config.find(name); found != config.end() && found->is_boolean())
      options[name] = *found;
  return options.dump();
}

// Added tokens that tokenizer_config.json lists by id.
Result<> read_added_tokens(const nlohmann::json& config, const std::string& name, BpeParts& parts) {
  const auto list = config.find("added_tokens_decoder");
  if (list == config.end() || !list->is_object()) return {};
  for (const auto& [key, json] : list->items()) {
    int64_t id = -1;
    std::from_chars(key.data(), key.data() + key.size(), id);
    HW_ASSIGN_OR_RETURN(AddedToken token, added_token_of_json(json, id, name));
    parts.added.push_back(std::move(token));
  }
  return {};
}

Result<TokenizerFiles> read_pair(FileSystem& fs, const nlohmann::json& vocab,
                                 const std::string& vocab_path, const std::string& merges_path) {
  const std::string folder = directory_name(vocab_path),
                    config_path = join_path(folder, kConfigJson);
  BpeParts parts;
  HW_RETURN_IF_ERROR(read_vocab_json(vocab, vocab_path, parts));
  HW_RETURN_IF_ERROR(read_merges_txt(fs, merges_path, parts));
  HW_ASSIGN_OR_RETURN(const nlohmann::json config, read_config(fs, folder));
  HW_RETURN_IF_ERROR(read_added_tokens(config, config_path, parts));
  const std::string end(BpeModel::kEndOfText);
  if (parts.added.empty() && vocab.contains(end))
    parts.added.push_back({end, vocab[end].get<int32_t>()});
  HW_ASSIGN_OR_RETURN(BpeModel model, BpeModel::from_parts(parts, vocab_path, merges_path));
  return TokenizerFiles{std::move(model), options_of(config, {"add_prefix_space"}), config_path};
}

Result<TokenizerFiles> read_pair(FileSystem& fs, const std::string& vocab_path,
                                 const std::string& merges_path) {
  HW_ASSIGN_OR_RETURN(const std::string content, read_file(fs, vocab_path, kMaxTokenizerFileBytes));
  HW_ASSIGN_OR_RETURN(const nlohmann::json vocab, parse_large_json(content, vocab_path));
  return read_pair(fs, vocab, vocab_path, merges_path);
}

Result<TokenizerFiles> read_folder(FileSystem& fs, const std::string& folder) {
  if (const std::string path = join_path(folder, kTokenizerJson); fs.exists(path))
    return read_tokenizer_files(fs, path);
  const auto vocab = find_beside(fs, folder, 0), merges = find_beside(fs, folder, 1);
  if (vocab && merges) return read_pair(fs, *vocab, *merges);
  const std::string path = join_path(folder, kVocabTxt);
  if (!fs.exists(path)) {
    return fail_hint(Code::kNotFound, "name the file, or a folder that holds one of these",
                     "{} holds no {}, no {} with {}, and no {}", folder, kTokenizerJson,
                     kPairNames[0][0], kPairNames[0][1], kVocabTxt);
  }
  HW_ASSIGN_OR_RETURN(Vocabulary vocabulary, Vocabulary::load(fs, path));
  HW_ASSIGN_OR_RETURN(const nlohmann::json config, read_config(fs, folder));
  return TokenizerFiles{std::move(vocabulary),
                        options_of(config, {"do_lower_case", "strip_accents"}),
                        join_path(folder, kConfigJson)};
}

// An object with a key: what no vocabulary of lines begins with.
bool looks_like_json(std::string_view content) {
  const auto skip = [&] {
    content.remove_prefix(std::min(content.find_first_not_of(" \t\r\n"), content.size()));
  };
  skip();
  if (!content.starts_with('{')) return false;
  content.remove_prefix(1);
  skip();
  return content.starts_with('"') || content.starts_with('}');
}

Result<TokenizerFiles> read_json(FileSystem& fs, std::string_view content,
                                 const std::string& path) {
  HW_ASSIGN_OR_RETURN(const nlohmann::json json, parse_large_json(content, path));
  if (json.contains("model") && json["model"].is_object()) return tokenizer_of_json(json, path);
  const auto merges = find_beside(fs, directory_name(path), 1);
  if (!merges) {
    return fail_hint(Code::kNotFound, "put merges.txt beside it, or name a tokenizer.json",
                     "{}: a vocabulary of byte-level BPE needs its merges", path);
  }
  return read_pair(fs, json, path, *merges);
}

}  // namespace

Result<TokenizerFiles> read_tokenizer_json(std::string_view content, const std::string& name) {
  HW_ASSIGN_OR_RETURN(const nlohmann::json json, parse_large_json(content, name));
  return tokenizer_of_json(json, name);
}

Result<TokenizerFiles> read_tokenizer_files(FileSystem& fs, const std::string& path) {
  HW_ASSIGN_OR_RETURN(const FileInfo info, fs.info(path));
  if (info.is_directory) return read_folder(fs, path);
  HW_ASSIGN_OR_RETURN(const std::string content, read_file(fs, path, kMaxTokenizerFileBytes));
  if (looks_like_json(content)) return read_json(fs, content, path);
  const std::string name(base_name(path));
  if (content.starts_with("#version") || name == kPairNames[0][1] || name == kPairNames[1][1]) {
    const auto vocab = find_beside(fs, directory_name(path), 0);
    if (vocab) return read_pair(fs, *vocab, path);
    return fail_hint(Code::kNotFound, "put vocab.json beside it, or name a tokenizer.json",
                     "{}: merges of byte-level BPE need their vocabulary", path);
  }
  HW_ASSIGN_OR_RETURN(Vocabulary vocabulary, Vocabulary::load(fs, path));
  return TokenizerFiles{std::move(vocabulary), "{}", path};
}

Result<TokenizerOptions> options_for(const TokenizerFiles& files, TokenizerOptions given,
                                     const Fields* origins) {
  TokenizerOptions untouched;
  Fields fields, defaults;
  given.describe_all(fields);
  untouched.describe_all(defaults);
  for (Field& field : fields.all()) {
    const bool is_given = origins != nullptr ? !origins->find(field.name)->is_default()
                                             : field.text() != defaults.find(field.name)->text();
    if (is_given) field.origin = "given";
  }
  HW_ASSIGN_OR_RETURN(const Json options, parse_json(files.options, files.origin));
  HW_RETURN_IF_ERROR(fields.set_defaults(options, files.origin));
  return given;
}

}  // namespace headwater
