#include "tokens/vocabulary.h"

#include "base/digest.h"
#include "base/log.h"
#include "text/utf8.h"
#include "text/white_space.h"

namespace headwater {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr size_t kNotesPerKind = 3;  // the rest of a kind is counted, not listed

Result<std::vector<std::string>> split_lines(std::string_view text, const std::string& path) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    if (const auto bad = first_invalid_utf8(line)) {
      return fail_hint(Code::kInvalidArgument, "save the vocabulary as UTF-8",
                       "{}: line {} is not UTF-8 (byte {} of the line)", path, lines.size() + 1,
                       *bad);
    }
    if (static_cast<int64_t>(lines.size()) == Vocabulary::kMaxTokens) {
      return fail_hint(Code::kInvalidArgument, "is this a vocabulary?", "{} has more than {} lines",
                       path, Vocabulary::kMaxTokens);
    }
    lines.emplace_back(line);
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return lines;
}

// Collects what is worth saying, a few lines of each kind.
class Notes {
 public:
  Notes(std::vector<std::string>& out, std::string kind) : out_(out), kind_(std::move(kind)) {}
  void add(std::string note) {
    if (++count_ <= kNotesPerKind) out_.push_back(std::move(note));
  }
  void finish() {
    if (count_ > kNotesPerKind)
      out_.push_back(fmt::format("... and {} more {}", count_ - kNotesPerKind, kind_));
  }

 private:
  std::vector<std::string>& out_;
  std::string kind_;
  size_t count_ = 0;
};

}  // namespace

Result<Vocabulary> Vocabulary::load(FileSystem& fs, const std::string& path) {
  HW_ASSIGN_OR_RETURN(const std::string content, read_file(fs, path, kMaxFileBytes));
  std::string_view text = content;
  const bool marked = text.substr(0, kByteOrderMark.size()) == kByteOrderMark;
  if (marked) text.remove_prefix(kByteOrderMark.size());
  HW_ASSIGN_OR_RETURN(std::vector<std::string> lines, split_lines(text, path));
  HW_ASSIGN_OR_RETURN(Vocabulary vocabulary, from_tokens(std::move(lines), path));
  if (marked) log_warning("{}: skipped a byte order mark in front of the first token", path);
  for (const std::string& note : vocabulary.notes()) log_warning("{}: {}", path, note);
  return vocabulary;
}

Result<Vocabulary> Vocabulary::from_tokens(std::vector<std::string> tokens, std::string name) {
  if (tokens.empty()) {
    return fail_hint(Code::kInvalidArgument, "a vocabulary has one token per line",
                     "{} holds no token", name);
  }
  if (static_cast<int64_t>(tokens.size()) > kMaxTokens) {
    return fail(Code::kInvalidArgument, "{} has {} tokens, at most {} are supported", name,
                tokens.size(), kMaxTokens);
  }
  auto table = std::make_shared<Table>();
  Notes blanks(table->notes, "blank lines");
  Notes repeats(table->notes, "repeated tokens");
  table->name = std::move(name);
  table->tokens = std::move(tokens);
  table->ids.reserve(table->tokens.size());
  Sha256 sha;
  for (size_t id = 0; id < table->tokens.size(); ++id) {
    std::string& token = table->tokens[id];
    if (const auto bad = first_invalid_utf8(token)) {
      return fail(Code::kInvalidArgument, "{}: token {} is not UTF-8 (byte {})", table->name, id,
                  *bad);
    }
    if (const std::string_view stripped = strip_white_space(token); stripped.size() != token.size())
      token = std::string(stripped);
    sha.update(token);
    sha.update(std::string_view("\n"));
    const auto [place, fresh] = table->ids.try_emplace(token, static_cast<int32_t>(id));
    if (token.empty()) {
      blanks.add(fmt::format("line {} is blank; it still counts as id {}", id + 1, id));
    } else if (!fresh) {
      repeats.add(fmt::format("'{}' stands on lines {} and {}; id {} counts", token,
                              place->second + 1, id + 1, id));
    }
    place->second = static_cast<int32_t>(id);
  }
  blanks.finish();
  repeats.finish();
  table->digest = sha.hex();
  return Vocabulary(std::move(table));
}

std::optional<int32_t> Vocabulary::find(std::string_view token) const {
  const auto place = table_->ids.find(token);
  if (place == table_->ids.end()) return std::nullopt;
  return place->second;
}

const std::string& Vocabulary::token(int64_t id) const {
  HW_CHECK(id >= 0 && id < size(), "token id {} of {}", id, size());
  return table_->tokens[static_cast<size_t>(id)];
}

Result<SpecialIds> Vocabulary::special_ids() const {
  SpecialIds ids;
  std::vector<std::string_view> missing;
  const auto look_up = [&](std::string_view token, int32_t& id) {
    if (const auto found = find(token)) {
      id = *found;
    } else {
      missing.push_back(token);
    }
  };
  look_up("[PAD]", ids.pad);
  look_up("[UNK]", ids.unk);
  look_up("[CLS]", ids.cls);
  look_up("[SEP]", ids.sep);
  look_up("[MASK]", ids.mask);
  if (missing.empty()) return ids;
  return fail_hint(Code::kInvalidArgument,
                   "give a WordPiece vocabulary, or add the missing lines to this one",
                   "vocabulary {} ({} tokens) lacks {}", name(), size(), fmt::join(missing, ", "));
}

}  // namespace headwater
