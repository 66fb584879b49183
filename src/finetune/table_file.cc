#include "finetune/table_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "text/utf8.h"

namespace headwater {
namespace {

constexpr int64_t kMaxBytes = int64_t{1} << 31;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::string place(const std::string& path, int64_t line) {
  return fmt::format("{}:{}", path, line);
}

TableFormat format_of(const TableOptions& options, const std::string& path) {
  std::string_view name = path;
  for (const std::string_view packed : {".gz", ".zst", ".xz"}) {
    if (name.ends_with(packed)) name.remove_suffix(packed.size());
  }
  const bool by_name = options.format == "auto";
  const auto is = [&](std::string_view format) {
    return by_name ? name.ends_with(std::string(".").append(format)) : options.format == format;
  };
  if (is("csv")) return TableFormat::kCsv;
  return is("jsonl") ? TableFormat::kJsonl : TableFormat::kTsv;
}

// Cells of one separator, with or without quotes.
class CellReader {
 public:
  CellReader(std::string_view content, char separator, bool quotes, const std::string& path)
      : content_(content), separator_(separator), quotes_(quotes), path_(path) {}

  // False at the end.
  Result<bool> next(TableRow& row) {
    while (at_ < content_.size() && skip_line_end()) {
    }
    if (at_ >= content_.size()) return false;
    row = {line_, {}};
    while (true) {
      HW_ASSIGN_OR_RETURN(std::string cell, next_cell());
      row.cells.emplace_back(std::move(cell));
      if (at_ >= content_.size() || skip_line_end()) return true;
      ++at_;  // the separator
    }
  }

 private:
  bool skip_line_end() {
    const std::string_view rest = content_.substr(at_, 2);
    const size_t length = rest == "\r\n" ? 2 : rest.starts_with('\n') ? 1 : 0;
    at_ += length;
    line_ += length > 0 ? 1 : 0;
    return length > 0;
  }

  Result<std::string> next_cell() {
    if (quotes_ && at_ < content_.size() && content_[at_] == '"') return quoted_cell();
    const size_t begin = at_;
    while (at_ < content_.size() && content_[at_] != separator_ && content_[at_] != '\n') ++at_;
    std::string_view cell = content_.substr(begin, at_ - begin);
    if (at_ < content_.size() && content_[at_] == '\n' && cell.ends_with('\r')) {
      cell.remove_suffix(1);
      --at_;
    }
    return std::string(cell);
  }

  Result<std::string> quoted_cell() {
    const int64_t opened = line_;
    std::string cell;
    for (++at_; at_ < content_.size(); ++at_) {
      if (content_[at_] == '\n') ++line_;
      if (content_[at_] != '"') {
        cell += content_[at_];
      } else if (content_.substr(at_, 2) == "\"\"") {
        cell += content_[at_++];
      } else {
        ++at_;
        HW_RETURN_IF_ERROR(check_end());
        return cell;
      }
    }
    return fail_hint(Code::kInvalidArgument, "close it, or double a quote that belongs to the text",
                     "{}: the quote that opens here never closes", place(path_, opened));
  }

  Result<> check_end() const {
    const std::string_view rest = content_.substr(at_, 2);
    if (rest.empty() || rest[0] == separator_ || rest[0] == '\n' || rest == "\r\n") return {};
    return fail_hint(Code::kInvalidArgument, "double a quote that belongs to the text",
                     "{}: text behind a closing quote", place(path_, line_));
  }

  std::string_view content_;
  char separator_;
  bool quotes_;
  const std::string& path_;
  size_t at_ = 0;
  int64_t line_ = 1;
};

Result<> read_cells(std::string_view content, char separator, const TableOptions& options,
                    TaskTable& table) {
  const bool quotes = table.format == TableFormat::kCsv || options.quotes;
  CellReader reader(content, separator, quotes, table.path);
  TableRow row;
  while (true) {
    HW_ASSIGN_OR_RETURN(const bool found, reader.next(row));
    if (!found) return {};
    if (table.columns.empty()) {
      for (size_t i = 0; i < row.cells.size(); ++i)
        table.columns.push_back(options.header ? *row.cells[i] : fmt::format("{}", i + 1));
      if (options.header) continue;
    }
    if (row.cells.size() != table.columns.size()) {
      return fail_hint(Code::kInvalidArgument,
                       "a tab or comma inside a text must be quoted (tsv: --quotes) or taken out",
                       "{}: {} columns, but the first row has {}", place(table.path, row.line),
                       row.cells.size(), table.columns.size());
    }
    table.rows.push_back(std::move(row));
  }
}

std::string text_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return dump_json(value);
  std::string text;
  for (size_t i = 0; i < value.size(); ++i)
    text.append(i == 0 ? "" : "\t").append(text_of(value[i]));
  return text;
}

Result<> read_objects(std::string_view content, TaskTable& table) {
  int64_t line = 0;
  for (size_t begin = 0; begin < content.size();) {
    const size_t end = std::min(content.find('\n', begin), content.size());
    const std::string_view text = content.substr(begin, end - begin);
    begin = end + 1;
    ++line;
    if (text.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    HW_ASSIGN_OR_RETURN(const Json object, parse_json(text, place(table.path, line)));
    if (!object.is_object())
      return fail(Code::kInvalidArgument, "{}: no JSON object", place(table.path, line));
    TableRow row{line, std::vector<std::optional<std::string>>(table.columns.size())};
    for (const auto& [key, value] : object.items()) {
      const auto known = std::ranges::find(table.columns, key);
      const auto index = static_cast<size_t>(known - table.columns.begin());
      if (known == table.columns.end()) table.columns.push_back(key);
      row.cells.resize(table.columns.size());
      if (!value.is_null()) row.cells[index] = text_of(value);
    }
    table.rows.push_back(std::move(row));
  }
  for (TableRow& row : table.rows) row.cells.resize(table.columns.size());
  return {};
}

}  // namespace

std::optional<size_t> TaskTable::find_column(std::string_view name) const {
  const auto named = std::ranges::find(columns, name);
  if (named != columns.end()) return static_cast<size_t>(named - columns.begin());
  size_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool whole = error == std::errc() && end == name.data() + name.size();
  if (!whole || number < 1 || number > columns.size()) return std::nullopt;
  return number - 1;
}

Result<size_t> TaskTable::column(std::string_view name) const {
  if (const auto found = find_column(name)) return *found;
  return fail_hint(Code::kNotFound, "name another, or number it from 1",
                   "{} has no column '{}'; it has: {}", path, name, fmt::join(columns, ", "));
}

Result<TaskTable> parse_table(std::string_view content, const std::string& path,
                              const TableOptions& options) {
  TaskTable table;
  table.path = path;
  table.format = format_of(options, path);
  if (table.format == TableFormat::kJsonl) HW_RETURN_IF_ERROR(read_objects(content, table));
  else
    HW_RETURN_IF_ERROR(
        read_cells(content, table.format == TableFormat::kCsv ? ',' : '\t', options, table));
  return table;
}

Result<std::string> read_text(ByteSource& source, const std::string& name) {
  std::string text;
  std::array<uint8_t, 1 << 16> buffer;
  while (true) {
    const auto n = source.read(buffer);
    if (!n) return in_context(n.error(), name);
    if (*n == 0) break;
    text.append(reinterpret_cast<const char*>(buffer.data()), *n);
    if (static_cast<int64_t>(text.size()) > kMaxBytes)
      return fail(Code::kResourceExhausted, "{} is larger than {} bytes", name, kMaxBytes);
  }
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  const auto bad = first_invalid_utf8(text);
  if (!bad) return text;
  const auto line = std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(*bad), '\n') + 1;
  return fail_hint(Code::kInvalidArgument, encoding_hint(text), "{}: not valid UTF-8",
                   place(name, line));
}

Result<std::string> read_text_file(FileSystem& fs, const std::string& path) {
  HW_ASSIGN_OR_RETURN(const auto source, open_decompressed(fs, path));
  return read_text(*source, path);
}

}  // namespace headwater
