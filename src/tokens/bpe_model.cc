#include "tokens/bpe_model.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/digest.h"
#include "base/json.h"
#include "text/utf8.h"
#include "tokens/byte_alphabet.h"
#include "tokens/large_json.h"

namespace headwater {
namespace {

constexpr std::string_view kVersionLine = "#version";
constexpr int64_t kFewIds =
    4096;  // gaps that any vocabulary may have, besides as many as it has tokens

// What a token of a file stands for: the bytes of its characters, or itself when it is no text of
// the alphabet.
std::string bytes_of(const std::string& token) { return alphabet_to_bytes(token).value_or(token); }

std::string place_of(const BpeParts::Merge& merge, size_t rank, const std::string& name) {
  return merge.line > 0 ? fmt::format("{}, line {}", name, merge.line)
                        : fmt::format("{}, merge {}", name, rank);
}

}  // namespace

class BpeModel::Builder {
 public:
  Builder(const BpeParts& parts, std::string vocab_name, const std::string& merges_name)
      : parts_(parts), merges_name_(merges_name) {
    table_->name = std::move(vocab_name);
    table_->ignore_merges = parts.ignore_merges;
    const auto given = static_cast<int64_t>(parts.tokens.size() + parts.added.size());
    id_limit_ = std::min(kMaxTokens, 2 * given + kFewIds);
  }

  Result<BpeModel> run() {
    HW_RETURN_IF_ERROR(place_tokens());
    HW_RETURN_IF_ERROR(place_added());
    for (size_t id = 0; id < table_->tokens.size(); ++id)
      if (taken_[id]) table_->ids.try_emplace(table_->tokens[id], static_cast<int32_t>(id));
    HW_RETURN_IF_ERROR(find_bytes());
    HW_RETURN_IF_ERROR(find_merges());
    sum_up();
    return BpeModel(std::move(table_));
  }

 private:
  Result<> take_id(int64_t id, std::string_view token) {
    if (id < 0 || id >= id_limit_) {
      return fail(Code::kInvalidArgument,
                  "{}: token '{}' has id {}; ids of as many tokens end at {}", table_->name, token,
                  id, id_limit_ - 1);
    }
    const size_t place = static_cast<size_t>(id);
    if (place >= taken_.size()) {
      taken_.resize(place + 1);
      table_->tokens.resize(place + 1);
    }
    if (taken_[place]) {
      return fail(Code::kInvalidArgument, "{}: id {} is given to '{}' and again to '{}'",
                  table_->name, id, bytes_to_alphabet(table_->tokens[place]), token);
    }
    taken_[place] = true;
    return {};
  }

  Result<> place_tokens() {
    if (parts_.tokens.empty()) {
      return fail_hint(Code::kInvalidArgument, "is this a vocabulary?", "{} holds no token",
                       table_->name);
    }
    file_ids_.reserve(parts_.tokens.size());
    for (const auto& [token, id] : parts_.tokens) {
      if (token.empty())
        return fail(Code::kInvalidArgument, "{}: token {} is empty", table_->name, id);
      HW_RETURN_IF_ERROR(take_id(id, token));
      table_->tokens[static_cast<size_t>(id)] = bytes_of(token);
      file_ids_.emplace(token, static_cast<int32_t>(id));
    }
    return {};
  }

  // Added tokens are written as themselves; most stand in the vocabulary too.
  Result<> place_added() {
    for (const AddedToken& added : parts_.added) {
      if (added.text.empty())
        return fail(Code::kInvalidArgument, "{}: added token {} is empty", table_->name, added.id);
      if (const auto known = file_ids_.find(added.text);
          known == file_ids_.end() || known->second != added.id)
        HW_RETURN_IF_ERROR(take_id(added.id, added.text));
      table_->tokens[static_cast<size_t>(added.id)] = added.text;
      table_->added.push_back(added);
    }
    return {};
  }

  Result<> find_bytes() {
    std::vector<std::string> missing;
    for (const uint8_t byte : bytes_in_alphabet_order()) {
      const std::string one(1, static_cast<char>(byte));
      const auto id = file_ids_.find(bytes_to_alphabet(one));
      if (id == file_ids_.end()) {
        missing.push_back(bytes_to_alphabet(one));
      } else {
        table_->byte_ids[byte] = id->second;
      }
    }
    if (missing.empty()) return {};
    return fail_hint(
        Code::kInvalidArgument,
        "train it with the whole byte alphabet, or give the vocabulary of a byte-level "
        "BPE tokenizer such as GPT-2's",
        "{} ({} tokens) lacks {} of the 256 bytes, first '{}'", table_->name, parts_.tokens.size(),
        missing.size(), missing.front());
  }

  Result<> find_merges() {
    if (static_cast<int64_t>(parts_.merges.size()) >= kMaxTokens - 1) {
      return fail(Code::kInvalidArgument, "{} has {} merges, fewer than {} are supported",
                  merges_name_, parts_.merges.size(), kMaxTokens - 1);
    }
    table_->merges.reserve(parts_.merges.size());
    for (const BpeParts::Merge& merge : parts_.merges) {
      const std::string* missing = nullptr;
      const auto look_up = [&](const std::string& token) {
        const auto found = file_ids_.find(token);
        if (found != file_ids_.end()) return found->second;
        if (missing == nullptr) missing = &token;
        return 0;
      };
      const std::string joined = merge.left + merge.right;
      const BpeMerge ids{look_up(merge.left), look_up(merge.right), look_up(joined)};
      if (missing != nullptr) {
        return fail_hint(Code::kInvalidArgument, "do the two files belong together?",
                         "{}: '{}' is not in the vocabulary {}",
                         place_of(merge, table_->merges.size(), merges_name_), *missing,
                         table_->name);
      }
      table_->merges.push_back(ids);
    }
    return {};
  }

  void sum_up() {
    Sha256 sha;
    for (size_t id = 0; id < table_->tokens.size(); ++id)
      sha.update(fmt::format("{}\n", bytes_to_alphabet(table_->tokens[id])));
    for (const BpeMerge& merge : table_->merges)
      sha.update(fmt::format("{} {}\n", merge.left, merge.right));
    table_->digest = sha.hex();
  }

  const BpeParts& parts_;
  const std::string& merges_name_;
  int64_t id_limit_ = 0;
  std::shared_ptr<Table> table_ = std::make_shared<Table>();
  std::vector<bool> taken_;
  std::unordered_map<std::string_view, int32_t> file_ids_;  // views of parts_, as written there
};

Result<BpeModel> BpeModel::from_parts(const BpeParts& parts, std::string vocab_name,
                                      const std::string& merges_name) {
  return Builder(parts, std::move(vocab_name), merges_name).run();
}

Result<BpeModel> BpeModel::load(FileSystem& fs, const std::string& vocab_path,
                                const std::string& merges_path) {
  BpeParts parts;
  HW_ASSIGN_OR_RETURN(const std::string content, read_file(fs, vocab_path, kMaxTokenizerFileBytes));
  HW_ASSIGN_OR_RETURN(const nlohmann::json json, parse_large_json(content, vocab_path));
  HW_RETURN_IF_ERROR(read_vocab_json(json, vocab_path, parts));
  HW_RETURN_IF_ERROR(read_merges_txt(fs, merges_path, parts));
  for (const auto& [token, id] : parts.tokens)
    if (token == kEndOfText) parts.added.push_back({token, static_cast<int32_t>(id)});
  return from_parts(parts, vocab_path, merges_path);
}

const std::string& BpeModel::bytes(int64_t id) const {
  HW_CHECK(id >= 0 && id < size(), "token id {} of {}", id, size());
  return table_->tokens[static_cast<size_t>(id)];
}

bool BpeModel::is_added(int64_t id) const {
  const auto is_it = [id](const AddedToken& token) { return token.id == id; };
  return std::any_of(table_->added.begin(), table_->added.end(), is_it);
}

std::string BpeModel::text(int64_t id) const {
  return is_added(id) ? bytes(id) : bytes_to_alphabet(bytes(id));
}

std::optional<int32_t> BpeModel::find(std::string_view bytes) const {
  const auto place = table_->ids.find(bytes);
  if (place == table_->ids.end()) return std::nullopt;
  return place->second;
}

Result<> read_vocab_json(const nlohmann::json& json, const std::string& path, BpeParts& parts) {
  if (!json.is_object()) {
    return fail_hint(Code::kInvalidArgument, "is this GPT-2's vocab.json?",
                     "{}: not a JSON object of tokens and ids", path);
  }
  for (const auto& [token, id] : json.items()) {
    if (!id.is_number_integer()) {
      return fail_hint(Code::kInvalidArgument, "is this GPT-2's vocab.json?",
                       "{}: the id of token '{}' is not a whole number", path, token);
    }
    parts.tokens.emplace_back(token, id.get<int64_t>());
  }
  return {};
}

Result<> read_merges_txt(FileSystem& fs, const std::string& path, BpeParts& parts) {
  HW_ASSIGN_OR_RETURN(const std::string content, read_file(fs, path, kMaxTokenizerFileBytes));
  std::string_view rest = content;
  for (int64_t number = 1; !rest.empty(); ++number) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.empty() || line.starts_with(kVersionLine)) continue;
    if (const auto bad = first_invalid_utf8(line)) {
      return fail(Code::kInvalidArgument, "{}, line {}: not UTF-8 at byte {} of the line", path,
                  number, *bad);
    }
    const size_t blank = line.find(' ');
    if (blank == 0 || blank == std::string_view::npos || blank + 1 == line.size() ||
        line.find(' ', blank + 1) != std::string_view::npos) {
      return fail_hint(Code::kInvalidArgument, "a line of merges.txt is two tokens and one blank",
                       "{}, line {}: not a pair of tokens", path, number);
    }
    parts.merges.push_back(
        {std::string(line.substr(0, blank)), std::string(line.substr(blank + 1)), number});
  }
  return {};
}

std::string vocab_json(const BpeModel& model) {
  std::string out = "{";
  for (int64_t id = 0; id < model.size(); ++id) {
    if (model.bytes(id).empty()) continue;
    out += fmt::format("{}{}:{}", out.size() > 1 ? "," : "", dump_json(Json(model.text(id))), id);
  }
  return out + "}\n";
}

std::string merges_txt(const BpeModel& model) {
  std::string out = "#version: 0.2\n";
  for (const BpeMerge& merge : model.merges())
    out += fmt::format("{} {}\n", model.text(merge.left), model.text(merge.right));
  return out;
}

}  // namespace headwater
