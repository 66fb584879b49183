// What a byte-level BPE tokenizer was trained to: tokens, which are byte strings, and the pairs
// that are merged, in order (Sennrich et al. 2016; GPT-2's vocab.json and merges.txt).
//
// Every one of the 256 bytes is a token here, so that no text is unknown and decoding gives back
// the bytes that were encoded; files that lack some are refused. Not here: how a text is cut into
// words and merged (BpeTokenizer).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "io/file.h"

namespace headwater {

// A token that is found in the text before anything is merged.
struct AddedToken {
  std::string text;
  int32_t id = 0;
  bool special = true;  // a control token such as <|endoftext|>: only found where that is asked for
  bool lstrip = false, rstrip = false;  // takes the white space before, behind it
};

struct BpeMerge {
  int32_t left = 0, right = 0, joined = 0;
  friend bool operator==(const BpeMerge&, const BpeMerge&) = default;
};

// As the files have them, tokens written in GPT-2's byte alphabet.
struct BpeParts {
  struct Merge {
    std::string left, right;
    int64_t line = 0;  // of the file, for messages; 0: the place in the list is named
  };
  std::vector<std::pair<std::string, int64_t>> tokens;  // token, id; ids may have gaps
  std::vector<Merge> merges;
  std::vector<AddedToken> added;
  bool ignore_merges = false;  // a word that is a token is that token, however merging would go
};

// Cheap to copy: copies share one immutable table.
class BpeModel {
 public:
  static constexpr int64_t kMaxTokens = int64_t{1} << 21;
  static constexpr std::string_view kEndOfText = "<|endoftext|>";

  // vocab.json and merges.txt (by OpenAI's names encoder.json and vocab.bpe). A token <|endoftext|>
  // is special.
  static Result<BpeModel> load(FileSystem& fs, const std::string& vocab_path,
                               const std::string& merges_path);
  // `vocab_name` and `merges_name` stand for the files in messages.
  static Result<BpeModel> from_parts(const BpeParts& parts, std::string vocab_name,
                                     const std::string& merges_name);

  int64_t size() const { return static_cast<int64_t>(table_->tokens.size()); }  // ids are [0, size)
  const std::string& bytes(int64_t id) const;  // what a token stands for; empty in a gap
  std::string text(int64_t id) const;          // as the files write it: "Ġthe"
  std::optional<int32_t> find(std::string_view bytes) const;  // added tokens too
  const std::array<int32_t, 256>& byte_ids() const { return table_->byte_ids; }
  std::span<const BpeMerge> merges() const { return table_->merges; }  // by rank
  std::span<const AddedToken> added() const { return table_->added; }
  bool is_added(int64_t id) const;
  bool ignore_merges() const { return table_->ignore_merges; }

  const std::string& name() const { return table_->name; }      // path of the vocabulary
  const std::string& digest() const { return table_->digest; }  // SHA-256 of tokens and merges

 private:
  struct Table {
    std::string name, digest;
    std::vector<std::string> tokens;                    // bytes, by id
    std::unordered_map<std::string_view, int32_t> ids;  // views of `tokens`
    std::array<int32_t, 256> byte_ids{};
    std::vector<BpeMerge> merges;
    std::vector<AddedToken> added;
    bool ignore_merges = false;
  };
  class Builder;
  explicit BpeModel(std::shared_ptr<const Table> table) : table_(std::move(table)) {}
  std::shared_ptr<const Table> table_;
};

// Readers of the two files, for those who add to the parts. `json` is vocab.json's object.
Result<> read_vocab_json(const nlohmann::json& json, const std::string& path, BpeParts& parts);
Result<> read_merges_txt(FileSystem& fs, const std::string& path, BpeParts& parts);

// The two files' contents, as transformers writes them.
std::string vocab_json(const BpeModel& model);
std::string merges_txt(const BpeModel& model);

}  // namespace headwater
