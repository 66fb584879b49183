// A vocabulary file: one token per line, the id is the line number from 0.
//
// Rules of the ELECTRA and Hugging Face loaders: a token is the line without white space around it,
// a blank line takes an id of its own, of a repeated token the last id counts. What a person should
// know about a file (blank lines, duplicates, a byte order mark) is kept as notes and logged once
// when it is loaded.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "io/file.h"

namespace headwater {

struct SpecialIds {
  int32_t pad = 0, unk = 0, cls = 0, sep = 0, mask = 0;
  friend bool operator==(const SpecialIds&, const SpecialIds&) = default;
};

// Cheap to copy: copies share one immutable table.
class Vocabulary {
 public:
  static constexpr int64_t kMaxFileBytes = int64_t{64} << 20;
  static constexpr int64_t kMaxTokens = int64_t{1} << 22;

  static Result<Vocabulary> load(FileSystem& fs, const std::string& path);
  // The same rules on lines that are in memory; `name` stands for the file in messages.
  static Result<Vocabulary> from_tokens(std::vector<std::string> tokens, std::string name);

  int64_t size() const { return static_cast<int64_t>(table_->tokens.size()); }  // lines
  std::optional<int32_t> find(std::string_view token) const;
  const std::string& token(int64_t id) const;  // id in [0, size)
  const std::vector<std::string>& tokens() const { return table_->tokens; }

  // The five special tokens; when any is missing, an error that names file, size and all missing.
  Result<SpecialIds> special_ids() const;

  const std::string& name() const { return table_->name; }      // path, or the given name
  const std::string& digest() const { return table_->digest; }  // SHA-256 of the tokens, one a line
  const std::vector<std::string>& notes() const { return table_->notes; }

 private:
  struct Table {
    std::string name, digest;
    std::vector<std::string> tokens, notes;
    std::unordered_map<std::string_view, int32_t> ids;  // views of `tokens`
  };
  explicit Vocabulary(std::shared_ptr<const Table> table) : table_(std::move(table)) {}
  std::shared_ptr<const Table> table_;
};

}  // namespace headwater
