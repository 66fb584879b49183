#include "tokens/decode_stream.h"

#include <charconv>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/json.h"
#include "tokens/line_blocks.h"

namespace headwater {
namespace {

Result<> read_ids(std::string_view line, std::vector<int32_t>& ids) {
  ids.clear();
  while (true) {
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    if (line.empty()) return {};
    const std::string_view word = line.substr(0, line.find_first_of(" \t"));
    int32_t id = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (error != std::errc() || end != word.data() + word.size()) {
      return fail_hint(Code::kInvalidArgument, "--decode reads ids separated by blanks",
                       "'{}' is no id", word.substr(0, 40));
    }
    ids.push_back(id);
    line.remove_prefix(word.size());
  }
}

}  // namespace

Result<> decode_stream(ByteSource& source, ByteSink& sink, const AnyTokenizer& tokenizer,
                       const DecodeStreamOptions& options) {
  LineBlocks blocks(source, options.name, options.block_bytes);
  std::vector<std::string_view> lines;
  std::vector<int32_t> ids;
  while (true) {
    HW_ASSIGN_OR_RETURN(const bool more, blocks.next(lines));
    if (!more) return {};
    std::string out;
    for (size_t i = 0; i < lines.size(); ++i) {
      Result<> read = read_ids(lines[i], ids);
      Result<std::string> text = read ? tokenizer.decode(ids) : std::string();
      if (!read || !text) {
        Error error = read ? std::move(text).error() : std::move(read).error();
        return in_context(std::move(error),
                          fmt::format("{}, line {}", options.name,
                                      blocks.first_line() + static_cast<int64_t>(i)));
      }
      out += options.json ? dump_json(Json(*text)) : *text;
      out.push_back('\n');
    }
    HW_RETURN_IF_ERROR(sink.write(out));
  }
}

}  // namespace headwater
