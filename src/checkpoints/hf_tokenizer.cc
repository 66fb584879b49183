#include "checkpoints/hf_tokenizer.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/json.h"

namespace headwater {
namespace {

constexpr int64_t kMaxWordChars = 100;  // of BertTokenizerFast

// The special tokens by id, as both JSON files list them.
using SpecialTokens = std::vector<std::pair<int32_t, std::string>>;

SpecialTokens special_tokens(const SpecialIds& ids) {
  SpecialTokens tokens = {{ids.pad, "[PAD]"},
                          {ids.unk, "[UNK]"},
                          {ids.cls, "[CLS]"},
                          {ids.sep, "[SEP]"},
                          {ids.mask, "[MASK]"}};
  std::sort(tokens.begin(), tokens.end());
  return tokens;
}

Json strip_accents_json(const TokenizerOptions& options) {
  return options.strip_accents ? Json(*options.strip_accents) : Json(nullptr);
}

Json normalizer(const TokenizerOptions& options) {
  Json bert = {{"type", "BertNormalizer"},
               {"clean_text", true},
               {"handle_chinese_chars", true},
               {"strip_accents", strip_accents_json(options)},
               {"lowercase", options.do_lower_case}};
  if (options.normalize != "nfc") return bert;
  return {{"type", "Sequence"}, {"normalizers", Json::array({{{"type", "NFC"}}, std::move(bert)})}};
}

// [CLS] A [SEP], or [CLS] A [SEP] B [SEP] with B in segment 1.
Json post_processor(const SpecialIds& ids) {
  const auto special = [](const char* token, int segment) {
    return Json{{"SpecialToken", {{"id", token}, {"type_id", segment}}}};
  };
  const auto sequence = [](const char* name, int segment) {
    return Json{{"Sequence", {{"id", name}, {"type_id", segment}}}};
  };
  const auto entry = [](const char* token, int32_t id) {
    return Json{{"id", token}, {"ids", Json::array({id})}, {"tokens", Json::array({token})}};
  };
  return {
      {"type", "TemplateProcessing"},
      {"single", Json::array({special("[CLS]", 0), sequence("A", 0), special("[SEP]", 0)})},
      {"pair", Json::array({special("[CLS]", 0), sequence("A", 0), special("[SEP]", 0),
                            sequence("B", 1), special("[SEP]", 1)})},
      {"special_tokens", {{"[CLS]", entry("[CLS]", ids.cls)}, {"[SEP]", entry("[SEP]", ids.sep)}}}};
}

// The vocabulary as the JSON object that ends tokenizer.json. Text of its own, because an object of
// Json looks every key up from the front. A token given twice has its last id only.
std::string vocabulary_json(const Vocabulary& vocabulary) {
  std::string text = "{";
  for (int64_t id = 0; id < vocabulary.size(); ++id) {
    const std::string& token = vocabulary.token(id);
    if (vocabulary.find(token) != static_cast<int32_t>(id)) continue;
    text += fmt::format("{}\n      {}: {}", text.size() > 1 ? "," : "", dump_json(Json(token)), id);
  }
  return text + "\n    }";
}

std::string tokenizer_json(const Vocabulary& vocabulary, const TokenizerOptions& options,
                           const SpecialIds& ids) {
  Json json = {{"version", "1.0"}, {"truncation", nullptr}, {"padding", nullptr}};
  json["added_tokens"] = Json::array();
  for (const auto& [id, content] : special_tokens(ids)) {
    json["added_tokens"].push_back({{"id", id},
                                    {"content", content},
                                    {"single_word", false},
                                    {"lstrip", false},
                                    {"rstrip", false},
                                    {"normalized", false},
                                    {"special", true}});
  }
  json["normalizer"] = normalizer(options);
  json["pre_tokenizer"] = {{"type", "BertPreTokenizer"}};
  json["post_processor"] = post_processor(ids);
  json["decoder"] = {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}};
  json["model"] = {{"type", "WordPiece"},
                   {"unk_token", "[UNK]"},
                   {"continuing_subword_prefix", "##"},
                   {"max_input_chars_per_word", kMaxWordChars},
                   {"vocab", Json::object()}};
  std::string text = dump_json(json, 2);
  return text.replace(text.rfind("{}"), 2, vocabulary_json(vocabulary));
}

std::string tokenizer_config_json(const TokenizerOptions& options, const SpecialIds& ids,
                                  int64_t max_length) {
  Json json;
  for (const auto& [id, content] : special_tokens(ids)) {
    json["added_tokens_decoder"][std::to_string(id)] = {{"content", content},   {"lstrip", false},
                                                        {"normalized", false},  {"rstrip", false},
                                                        {"single_word", false}, {"special", true}};
  }
  json["clean_up_tokenization_spaces"] = true;
  json["cls_token"] = "[CLS]";
  json["do_basic_tokenize"] = true;
  json["do_lower_case"] = options.do_lower_case;
  json["mask_token"] = "[MASK]";
  json["model_max_length"] = max_length;
  json["never_split"] = nullptr;
  json["pad_token"] = "[PAD]";
  json["sep_token"] = "[SEP]";
  json["strip_accents"] = strip_accents_json(options);
  json["tokenize_chinese_chars"] = true;
  // A BertTokenizer makes its normaliser from the switches above and would forget the NFC step.
  json["tokenizer_class"] =
      options.normalize == "nfc" ? "PreTrainedTokenizerFast" : "BertTokenizer";
  json["unk_token"] = "[UNK]";
  return dump_json(json, 2) + "\n";
}

std::vector<std::string> notes_on(const TokenizerOptions& options) {
  std::vector<std::string> lost;
  if (options.normalize == "nfkc") lost.push_back("normalize nfkc");
  if (options.isolate_emoji) lost.push_back("isolate_emoji");
  if (options.max_jamo_run > 0) lost.push_back("max_jamo_run");
  if (lost.empty()) return {};
  return {
      fmt::format("tokenizer.json cannot say {}: apply it to texts before tokenising them there",
                  fmt::join(lost, ", "))};
}

}  // namespace

Result<HfTokenizerFiles> hf_tokenizer_files(const Vocabulary& vocabulary,
                                            const TokenizerOptions& options, int64_t max_length) {
  HW_ASSIGN_OR_RETURN(const SpecialIds ids, vocabulary.special_ids());
  Json map;
  for (const char* name : {"cls", "mask", "pad", "sep", "unk"}) {
    std::string token = fmt::format("[{}]", name);
    std::transform(token.begin(), token.end(), token.begin(),
                   [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
    map[std::string(name) + "_token"] = token;
  }
  HfTokenizerFiles result;
  result.files = {{"vocab.txt", fmt::format("{}\n", fmt::join(vocabulary.tokens(), "\n"))},
                  {"tokenizer.json", tokenizer_json(vocabulary, options, ids)},
                  {"tokenizer_config.json", tokenizer_config_json(options, ids, max_length)},
                  {"special_tokens_map.json", dump_json(map, 2) + "\n"}};
  result.notes = notes_on(options);
  return result;
}

Result<std::vector<std::pair<std::string, std::string>>> read_tokenizer_folder(
    FileSystem& fs, const std::string& folder) {
  constexpr int64_t kFileLimit = int64_t{1} << 30;
  constexpr std::string_view kNames[] = {"tokenizer.json",
                                         "vocab.json",
                                         "merges.txt",
                                         "vocab.txt",
                                         "added_tokens.json",
                                         "tokenizer_config.json",
                                         "special_tokens_map.json"};
  std::vector<std::pair<std::string, std::string>> files;
  for (const std::string_view name : kNames) {
    const std::string path = join_path(folder, name);
    if (!fs.exists(path)) continue;
    HW_ASSIGN_OR_RETURN(std::string content, read_file(fs, path, kFileLimit));
    files.emplace_back(name, std::move(content));
  }
  return files;
}

}  // namespace headwater
