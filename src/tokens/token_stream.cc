#include "tokens/token_stream.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/checked.h"
#include "base/json.h"
#include "base/threads.h"
#include "text/utf8.h"

namespace headwater {
namespace {

constexpr size_t kMaxLineBytes = size_t{1} << 30;
constexpr int64_t kLinesPerTask = 512;

// Whole lines of the source, about `block_bytes` at a time.
class BlockReader {
 public:
  BlockReader(ByteSource& source, const TokenStreamOptions& options)
      : source_(source), options_(options) {}

  // The next block; false at the end. Lines are views that live until the next call.
  Result<bool> next(std::vector<std::string_view>& lines) {
    buffer_.erase(0, consumed_);
    first_line_ += static_cast<int64_t>(lines.size());
    lines.clear();
    const size_t want = static_cast<size_t>(options_.block_bytes);
    size_t end = std::string::npos;  // last line end; what the last block left has none
    while (!ended_ && (buffer_.size() < want || end == std::string::npos)) {
      const size_t before = buffer_.size();
      HW_RETURN_IF_ERROR(fill(want));
      const size_t found = std::string_view(buffer_).substr(before).rfind('\n');
      if (found != std::string_view::npos) end = before + found;
      if (end == std::string::npos && buffer_.size() > kMaxLineBytes) {
        return fail_hint(Code::kInvalidArgument, "is this a text file?",
                         "{}: line {} is longer than {} bytes", options_.name, first_line_,
                         kMaxLineBytes);
      }
    }
    consumed_ = ended_ || end == std::string::npos ? buffer_.size() : end + 1;
    split(std::string_view(buffer_).substr(0, consumed_), lines);
    return !lines.empty();
  }

  int64_t first_line() const { return first_line_; }  // number of lines[0], from 1
  int64_t bytes() const { return bytes_; }            // read so far
  // Offset in the input of a byte of this block.
  int64_t offset_of(const char* byte) const {
    return bytes_ - static_cast<int64_t>(buffer_.size()) + (byte - buffer_.data());
  }
  std::string_view start() const { return start_; }  // first bytes of the input

 private:
  Result<> fill(size_t want) {
    const size_t before = buffer_.size();
    buffer_.resize(before + want);
    HW_ASSIGN_OR_RETURN(const size_t n,
                        source_.read(std::span(reinterpret_cast<uint8_t*>(buffer_.data()) + before,
                                               buffer_.size() - before)));
    buffer_.resize(before + n);
    bytes_ += static_cast<int64_t>(n);
    ended_ = n == 0;
    if (start_.empty()) start_ = buffer_.substr(0, 2);
    return {};
  }

  static void split(std::string_view text, std::vector<std::string_view>& lines) {
    while (!text.empty()) {
      const size_t end = std::min(text.find('\n'), text.size());
      std::string_view line = text.substr(0, end);
      if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
      lines.push_back(line);
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }

  ByteSource& source_;
  const TokenStreamOptions& options_;
  std::string buffer_, start_;
  size_t consumed_ = 0;
  bool ended_ = false;
  int64_t first_line_ = 1, bytes_ = 0;
};

// What one task made of its lines.
struct TaskResult {
  std::string out;
  UnknownReport report;
  int64_t replaced = 0, saved_by_emoji = 0;
  const char* bad = nullptr;  // first byte that is not UTF-8
  size_t bad_line = 0;        // its line in the block
};

class LineFormatter {
 public:
  static Result<LineFormatter> create(const Tokenizer& tokenizer,
                                      const TokenStreamOptions& options) {
    LineFormatter formatter(tokenizer, options);
    if (options.add_special_tokens) {
      HW_ASSIGN_OR_RETURN(formatter.special_, tokenizer.vocabulary().special_ids());
    }
    if (options.format == TokenFormat::kJson) {
      for (const std::string& token : tokenizer.vocabulary().tokens())
        formatter.escaped_.push_back(dump_json(Json(token)));
    }
    if (tokenizer.options().isolate_emoji) {
      TokenizerOptions glued = tokenizer.options();
      glued.isolate_emoji = false;
      HW_ASSIGN_OR_RETURN(formatter.glued_, Tokenizer::create(tokenizer.vocabulary(), glued));
    }
    return formatter;
  }

  void add_line(std::string_view line, std::vector<int32_t>& ids, TaskResult& result) const {
    ids.clear();
    if (options_.format == TokenFormat::kJson) {
      const std::vector<Token> tokens = with_specials(tokenizer_.tokenize(line));
      for (const Token& token : tokens) ids.push_back(token.id);
      append_json(tokens, result.out);
    } else {
      if (special_) ids.push_back(special_->cls);
      tokenizer_.append_ids(line, ids);
      if (special_) ids.push_back(special_->sep);
      append_words(ids, result.out);
    }
    result.out.push_back('\n');
    if (glued_) count_saved(line, ids, result);
    std::span<const int32_t> plain = ids;
    if (special_) plain = plain.subspan(1, plain.size() - 2);
    result.report.add(tokenizer_, line, plain);
  }

 private:
  LineFormatter(const Tokenizer& tokenizer, const TokenStreamOptions& options)
      : tokenizer_(tokenizer), options_(options) {}

  std::vector<Token> with_specials(std::vector<Token> tokens) const {
    if (special_) {
      tokens.insert(tokens.begin(), Token{special_->cls, 0, 0});
      tokens.push_back(Token{special_->sep, 0, 0});
    }
    return tokens;
  }

  static void append_number(int64_t number, std::string& out) {
    char digits[20];
    out.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
  }

  void append_words(std::span<const int32_t> ids, std::string& out) const {
    for (size_t i = 0; i < ids.size(); ++i) {
      if (i > 0) out.push_back(' ');
      if (options_.format == TokenFormat::kIds) {
        append_number(ids[i], out);
      } else {
        out += tokenizer_.vocabulary().token(ids[i]);
      }
    }
  }

  void append_json(std::span<const Token> tokens, std::string& out) const {
    const auto list = [&](std::string_view key, auto item) {
      out += key;
      for (size_t i = 0; i < tokens.size(); ++i) {
        if (i > 0) out.push_back(',');
        item(tokens[i]);
      }
      out.push_back(']');
    };
    list("{\"ids\":[", [&](const Token& t) { append_number(t.id, out); });
    list(",\"tokens\":[", [&](const Token& t) { out += escaped_[static_cast<size_t>(t.id)]; });
    list(",\"offsets\":[", [&](const Token& t) {
      out.push_back('[');
      append_number(static_cast<int64_t>(t.begin), out);
      out.push_back(',');
      append_number(static_cast<int64_t>(t.end), out);
      out.push_back(']');
    });
    out.push_back('}');
  }

  void count_saved(std::string_view line, std::span<const int32_t> ids, TaskResult& result) const {
    std::vector<int32_t> glued;
    glued_->append_ids(line, glued);
    const auto unknown = [&](std::span<const int32_t> list) {
      return std::count(list.begin(), list.end(), tokenizer_.unk_id());
    };
    result.saved_by_emoji += unknown(glued) - unknown(ids);
  }

  const Tokenizer& tokenizer_;
  const TokenStreamOptions& options_;
  std::optional<SpecialIds> special_;
  std::vector<std::string> escaped_;  // tokens as JSON texts
  std::optional<Tokenizer> glued_;    // without isolate_emoji
};

void run_task(const LineFormatter& formatter, std::span<const std::string_view> lines, size_t first,
              bool replace, TaskResult& result) {
  std::vector<int32_t> ids;
  for (size_t i = 0; i < lines.size(); ++i) {
    const auto bad = first_invalid_utf8(lines[i]);
    if (!bad) {
      formatter.add_line(lines[i], ids, result);
      continue;
    }
    if (result.bad == nullptr) {
      result.bad = lines[i].data() + *bad;
      result.bad_line = first + i;
    }
    if (!replace) return;
    ++result.replaced;
    formatter.add_line(replace_invalid_utf8(lines[i]), ids, result);
  }
}

}  // namespace

Result<TokenStreamCounts> tokenize_stream(ByteSource& source, ByteSink& sink,
                                          const Tokenizer& tokenizer,
                                          const TokenStreamOptions& options) {
  HW_ASSIGN_OR_RETURN(const LineFormatter formatter, LineFormatter::create(tokenizer, options));
  BlockReader reader(source, options);
  TokenStreamCounts counts;
  std::vector<std::string_view> lines;
  while (true) {
    HW_ASSIGN_OR_RETURN(const bool more, reader.next(lines));
    if (!more) break;
    const auto line_count = static_cast<int64_t>(lines.size());
    std::vector<TaskResult> results(static_cast<size_t>(ceil_div(line_count, kLinesPerTask)));
    parallel_for(line_count, kLinesPerTask, [&](int64_t begin, int64_t end) {
      run_task(
          formatter,
          std::span(lines).subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin)),
          static_cast<size_t>(begin), options.replace_invalid,
          results[static_cast<size_t>(begin / kLinesPerTask)]);
    });
    for (const TaskResult& result : results) {
      if (result.bad != nullptr) {
        const std::string place =
            fmt::format("{}, line {}", options.name,
                        reader.first_line() + static_cast<int64_t>(result.bad_line));
        const int64_t offset = reader.offset_of(result.bad);
        if (!options.replace_invalid) {
          return fail_hint(Code::kInvalidArgument, encoding_hint(reader.start()),
                           "{}: invalid UTF-8 at byte {} of the file", place, offset);
        }
        if (counts.replaced_lines == 0)
          counts.first_replaced = fmt::format("{}, byte {}", place, offset);
      }
      HW_RETURN_IF_ERROR(sink.write(result.out));
      counts.report.merge(result.report);
      counts.replaced_lines += result.replaced;
      counts.saved_by_emoji += result.saved_by_emoji;
    }
  }
  counts.bytes = reader.bytes();
  return counts;
}

}  // namespace headwater
