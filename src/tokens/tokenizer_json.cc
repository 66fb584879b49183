#include "tokens/tokenizer_json.h"

#include <limits>
#include <nlohmann/json.hpp>

namespace headwater {
namespace {

using Node = nlohmann::json;

// A member, or null where there is none.
const Node& member(const Node& object, const char* key) {
  static const Node kNull;
  if (!object.is_object()) return kNull;
  const auto found = object.find(key);
  return found == object.end() ? kNull : *found;
}

std::string text_of(const Node& node) {
  return node.is_string() ? node.get<std::string>() : std::string();
}

bool is_true(const Node& node) { return node.is_boolean() && node.get<bool>(); }

std::string type_of(const Node& node) {
  const std::string type = text_of(member(node, "type"));
  return type.empty() ? "none" : type;
}

class Reader {
 public:
  Reader(const Node& json, const std::string& name) : json_(json), name_(name) {}

  Result<TokenizerFiles> run() {
    const Node& model = member(json_, "model");
    const bool has_merges = member(model, "merges").is_array();
    const std::string type = has_merges && !model.contains("type") ? "BPE" : type_of(model);
    if (!member(model, "vocab").is_object() || (type == "BPE" && !has_merges))
      return refuse("model", type, "WordPiece and byte-level BPE are");
    if (type == "WordPiece") return word_piece(model);
    if (type == "BPE") return byte_pairs(model);
    return refuse("model", type, "WordPiece and byte-level BPE are");
  }

 private:
  tl::unexpected<Error> refuse(std::string_view part, std::string_view what,
                               std::string_view instead) const {
    return fail_hint(Code::kUnimplemented, std::string(instead), "{}: {} {} is not supported",
                     name_, part, what);
  }

  // A text of the model that must be one thing, or absent.
  Result<> expect(const Node& model, const char* key, std::string_view wanted) const {
    const Node& value = member(model, key);
    if (value.is_null() || (value.is_string() && value.get<std::string>() == wanted)) return {};
    return refuse(key, value.dump(), fmt::format("'{}' is", wanted));
  }

  Result<TokenizerFiles> finish(std::variant<Vocabulary, BpeModel> vocabulary) const {
    return TokenizerFiles{std::move(vocabulary), options_.dump(), name_};
  }

  // ---- WordPiece ----

  Result<TokenizerFiles> word_piece(const Node& model) {
    HW_RETURN_IF_ERROR(expect(model, "unk_token", "[UNK]"));
    HW_RETURN_IF_ERROR(expect(model, "continuing_subword_prefix", "##"));
    options_["compatibility"] = "hf";
    const Node& longest = member(model, "max_input_chars_per_word");
    if (!longest.is_null()) {
      const int64_t n = longest.is_number_integer() ? longest.get<int64_t>() : 0;
      if (n < 1 || n > Tokenizer::kMaxWordChars)
        return refuse("max_input_chars_per_word", longest.dump(), "1 to 4096 is");
      options_["max_word_chars"] = n;
    }
    HW_RETURN_IF_ERROR(read_bert_normalizer(member(json_, "normalizer")));
    if (const std::string type = type_of(member(json_, "pre_tokenizer"));
        type != "BertPreTokenizer")
      return refuse("pre_tokenizer", type, "BertPreTokenizer is, for WordPiece");
    HW_ASSIGN_OR_RETURN(std::vector<std::string> tokens, tokens_by_id(member(model, "vocab")));
    HW_ASSIGN_OR_RETURN(Vocabulary vocabulary, Vocabulary::from_tokens(std::move(tokens), name_));
    return finish(std::move(vocabulary));
  }

  // BertNormalizer, alone or behind NFC, as our own exports write it.
  Result<> read_bert_normalizer(const Node& normalizer) {
    if (type_of(normalizer) == "Sequence") {
      const Node& steps = member(normalizer, "normalizers");
      if (steps.is_array() && steps.size() == 2 && type_of(steps[0]) == "NFC") {
        options_["normalize"] = "nfc";
        return read_bert_normalizer_step(steps[1]);
      }
    }
    return read_bert_normalizer_step(normalizer);
  }

  Result<> read_bert_normalizer_step(const Node& step) {
    if (type_of(step) != "BertNormalizer")
      return refuse("normalizer", type_of(step), "BertNormalizer is, for WordPiece");
    for (const char* key : {"clean_text", "handle_chinese_chars"})
      if (!is_true(member(step, key)))
        return refuse("normalizer", fmt::format("BertNormalizer without {}", key),
                      "with it, it is");
    options_["do_lower_case"] = is_true(member(step, "lowercase"));
    const Node& strip = member(step, "strip_accents");
    if (strip.is_boolean()) options_["strip_accents"] = strip.get<bool>();
    return {};
  }

  // Tokens and added tokens in the order of their ids; a gap is an empty line, as in a vocabulary
  // file.
  Result<std::vector<std::string>> tokens_by_id(const Node& vocab) const {
    std::vector<std::string> tokens;
    const auto limit = static_cast<int64_t>(2 * vocab.size() + 4096);
    const auto place = [&](const std::string& token, const Node& id) -> Result<> {
      const int64_t n = id.is_number_integer() ? id.get<int64_t>() : -1;
      if (n < 0 || n >= limit) {
        return fail(Code::kInvalidArgument, "{}: token '{}' has id {}", name_, token, id.dump());
      }
      const size_t at = static_cast<size_t>(n);
      if (at >= tokens.size()) tokens.resize(at + 1);
      if (!tokens[at].empty() && tokens[at] != token) {
        return fail(Code::kInvalidArgument, "{}: id {} is given to '{}' and again to '{}'", name_,
                    n, tokens[at], token);
      }
      tokens[at] = token;
      return {};
    };
    for (const auto& [token, id] : vocab.items()) HW_RETURN_IF_ERROR(place(token, id));
    const Node& added = member(json_, "added_tokens");
    for (size_t i = 0; added.is_array() && i < added.size(); ++i)
      HW_RETURN_IF_ERROR(place(text_of(member(added[i], "content")), member(added[i], "id")));
    return tokens;
  }

  // ---- byte-level BPE ----

  Result<TokenizerFiles> byte_pairs(const Node& model) {
    HW_RETURN_IF_ERROR(expect(model, "continuing_subword_prefix", ""));
    HW_RETURN_IF_ERROR(expect(model, "end_of_word_suffix", ""));
    if (const Node& dropout = member(model, "dropout");
        !dropout.is_null() && !(dropout.is_number() && dropout.get<double>() == 0))
      return refuse("dropout", dropout.dump(), "merging without chance is");
    if (is_true(member(model, "byte_fallback")))
      return refuse("byte_fallback", "true", "the byte alphabet of GPT-2 is");
    HW_RETURN_IF_ERROR(read_byte_level(member(json_, "pre_tokenizer")));
    if (const std::string type = type_of(member(json_, "normalizer")); type == "NFC") {
      options_["normalize"] = "nfc";
    } else if (type != "none") {
      return refuse("normalizer", type, "none or NFC is, for byte-level BPE");
    }
    BpeParts parts;
    parts.ignore_merges = is_true(member(model, "ignore_merges"));
    HW_RETURN_IF_ERROR(read_vocab_json(member(model, "vocab"), name_, parts));
    HW_RETURN_IF_ERROR(read_merges(member(model, "merges"), parts));
    const Node& added = member(json_, "added_tokens");
    for (size_t i = 0; added.is_array() && i < added.size(); ++i) {
      const Node& id = member(added[i], "id");
      HW_ASSIGN_OR_RETURN(
          AddedToken token,
          added_token_of_json(added[i], id.is_number_integer() ? id.get<int64_t>() : -1, name_));
      parts.added.push_back(std::move(token));
    }
    HW_ASSIGN_OR_RETURN(BpeModel pairs, BpeModel::from_parts(parts, name_, name_));
    return finish(std::move(pairs));
  }

  Result<> read_byte_level(const Node& pre_tokenizer) {
    if (type_of(pre_tokenizer) != "ByteLevel")
      return refuse("pre_tokenizer", type_of(pre_tokenizer), "ByteLevel is, for BPE");
    const Node& regex = member(pre_tokenizer, "use_regex");
    if (regex.is_boolean() && !regex.get<bool>())
      return refuse("use_regex", "false", "GPT-2's way to cut words is");
    options_["add_prefix_space"] = is_true(member(pre_tokenizer, "add_prefix_space"));
    return {};
  }

  // Pairs, or texts of two tokens and a blank.
  Result<> read_merges(const Node& merges, BpeParts& parts) const {
    for (const Node& merge : merges) {
      BpeParts::Merge pair;
      if (merge.is_array() && merge.size() == 2) {
        pair = {text_of(merge[0]), text_of(merge[1])};
      } else if (const std::string text = text_of(merge); !text.empty()) {
        const size_t blank = std::min(text.find(' '), text.size());
        pair = {text.substr(0, blank), text.substr(std::min(blank + 1, text.size()))};
      }
      if (pair.left.empty() || pair.right.empty() || pair.right.find(' ') != std::string::npos) {
        return fail(Code::kInvalidArgument, "{}: merge {} is not a pair of tokens", name_,
                    parts.merges.size());
      }
      parts.merges.push_back(std::move(pair));
    }
    return {};
  }

  const Node& json_;
  const std::string& name_;
  Node options_ = Node::object();
};

}  // namespace

Result<TokenizerFiles> tokenizer_of_json(const nlohmann::json& json, const std::string& name) {
  return Reader(json, name).run();
}

Result<AddedToken> added_token_of_json(const nlohmann::json& json, int64_t id,
                                       const std::string& name) {
  AddedToken token{text_of(member(json, "content")), static_cast<int32_t>(id),
                   is_true(member(json, "special")), is_true(member(json, "lstrip")),
                   is_true(member(json, "rstrip"))};
  if (token.text.empty() || id < 0 || id > std::numeric_limits<int32_t>::max())
    return fail(Code::kInvalidArgument, "{}: an added token lacks its content or id", name);
  if (is_true(member(json, "single_word"))) {
    return fail(Code::kUnimplemented,
                "{}: added token '{}' has single_word, which is not supported", name, token.text);
  }
  return token;
}

}  // namespace headwater
