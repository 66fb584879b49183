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
#include "tokens/line_blocks.h"

namespace headwater {
namespace {

constexpr int64_t kLinesPerTask = 512;

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
  static Result<LineFormatter> create(const AnyTokenizer& tokenizer,
                                      const TokenStreamOptions& options) {
    LineFormatter formatter(tokenizer, options);
    const Tokenizer* pieces = tokenizer.word_pieces();
    if (options.add_special_tokens) {
      if (pieces == nullptr) {
        return fail_hint(Code::kInvalidArgument, "leave --add-special-tokens away",
                         "byte-level BPE puts no special tokens around a text");
      }
      HW_ASSIGN_OR_RETURN(formatter.special_, pieces->vocabulary().special_ids());
    }
    for (int64_t id = 0; options.format != TokenFormat::kIds && id < tokenizer.size(); ++id) {
      std::string token = tokenizer.token(id);
      formatter.written_.push_back(options.format == TokenFormat::kJson ? dump_json(Json(token))
                                                                        : std::move(token));
    }
    if (pieces != nullptr && pieces->options().isolate_emoji) {
      TokenizerOptions glued = pieces->options();
      glued.isolate_emoji = false;
      HW_ASSIGN_OR_RETURN(formatter.glued_, Tokenizer::create(pieces->vocabulary(), glued));
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
  LineFormatter(const AnyTokenizer& tokenizer, const TokenStreamOptions& options)
      : tokenizer_(tokenizer), pieces_(tokenizer.word_pieces()), options_(options) {}

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
        out += written_[static_cast<size_t>(ids[i])];
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
    list(",\"tokens\":[", [&](const Token& t) { out += written_[static_cast<size_t>(t.id)]; });
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
      return std::count(list.begin(), list.end(), pieces_->unk_id());
    };
    result.saved_by_emoji += unknown(glued) - unknown(ids);
  }

  const AnyTokenizer& tokenizer_;
  const Tokenizer* pieces_;  // null: byte-level BPE
  const TokenStreamOptions& options_;
  std::optional<SpecialIds> special_;
  std::vector<std::string> written_;  // tokens, plain or as JSON texts
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
                                          const AnyTokenizer& tokenizer,
                                          const TokenStreamOptions& options) {
  HW_ASSIGN_OR_RETURN(const LineFormatter formatter, LineFormatter::create(tokenizer, options));
  LineBlocks reader(source, options.name, options.block_bytes);
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
