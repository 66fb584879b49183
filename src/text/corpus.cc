#include "text/corpus.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <nlohmann/json.hpp>

#include "text/utf8.h"
#include "text/white_space.h"

namespace headwater {
namespace {

constexpr size_t kChunk = size_t{256} << 10;
constexpr int kMaxFolderDepth = 32;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

enum class Form { kPlain, kJsonLines, kTabSeparated };

std::string_view without_suffix(std::string_view name, std::string_view suffix) {
  return name.ends_with(suffix) ? name.substr(0, name.size() - suffix.size()) : name;
}

Form form_of(std::string_view path) {
  for (const std::string_view packed : {".gz", ".zst", ".xz"}) path = without_suffix(path, packed);
  if (path.ends_with(".jsonl") || path.ends_with(".ndjson")) return Form::kJsonLines;
  return path.ends_with(".tsv") ? Form::kTabSeparated : Form::kPlain;
}

Result<> add_files(FileSystem& fs, const std::string& folder, int depth,
                   std::vector<CorpusFile>& files) {
  if (depth > kMaxFolderDepth)
    return fail(Code::kInvalidArgument, "{}: folders are nested deeper than {}", folder,
                kMaxFolderDepth);
  HW_ASSIGN_OR_RETURN(const auto entries, fs.list(folder));
  for (const FileInfo& entry : entries) {
    if (base_name(entry.path).starts_with('.')) continue;
    if (entry.is_directory) HW_RETURN_IF_ERROR(add_files(fs, entry.path, depth + 1, files));
    else files.push_back({entry.path, entry.size});
  }
  return {};
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// Takes a text, and a label, out of a JSON object without building the rest of it: events of
// nlohmann's parser.
struct RecordEvents {
  std::string_view field;
  const std::optional<std::string>& label_field;
  std::string &text, &label;
  int64_t depth = 0;
  bool at_field = false, at_label = false, found = false, found_label = false;

  bool value() { return at_field = at_label = false, true; }
  bool number(std::string written) {
    if (at_label) label = std::move(written), found_label = true;
    return value();
  }
  bool null() { return value(); }
  bool boolean(bool content) { return number(content ? "1" : "0"); }
  bool number_integer(Json::number_integer_t content) { return number(fmt::format("{}", content)); }
  bool number_unsigned(Json::number_unsigned_t content) {
    return number(fmt::format("{}", content));
  }
  bool number_float(Json::number_float_t, const std::string& written) { return number(written); }
  bool binary(Json::binary_t&) { return value(); }
  bool string(std::string& content) {
    if (at_label) label = content, found_label = true;
    if (at_field) text.swap(content), found = true;
    return value();
  }
  bool key(const std::string& name) {
    at_field = depth == 1 && name == field;
    at_label = depth == 1 && label_field && name == *label_field;
    if (at_field) found = false;  // of a repeated name the last one counts
    if (at_label) found_label = false;
    return true;
  }
  bool start_object(size_t) { return ++depth, value(); }
  bool end_object() { return --depth, true; }
  // An array of the top level holds no field.
  bool start_array(size_t) { return depth += depth == 0 ? 2 : 1, value(); }
  bool end_array() { return --depth, true; }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) { return false; }
};

}  // namespace

void CorpusOptions::describe(Fields& f) {
  f("invalid_utf8", invalid_utf8, "text that is not UTF-8: stop, or replace it by U+FFFD")
      .one_of({"error", "replace"});
  f("text_field", text_field, "field of a .jsonl record that holds the text").value_name("NAME");
  f("tsv_column", tsv_column,
    "column of a .tsv file that holds the text: a number from 1, or a name in its first line")
      .value_name("N|NAME");
  f("max_line_bytes", max_line_bytes, "longest line accepted, in bytes").positive();
}

Result<std::vector<CorpusFile>> list_corpus(FileSystem& fs, const std::string& path) {
  HW_ASSIGN_OR_RETURN(const FileInfo info, fs.info(path));
  std::vector<CorpusFile> files;
  if (info.is_directory) HW_RETURN_IF_ERROR(add_files(fs, path, 0, files));
  else files.push_back({path, info.size});
  if (files.empty())
    return fail_hint(Code::kNotFound, "hidden files are not read", "no text files in {}", path);
  std::sort(files.begin(), files.end(),
            [](const CorpusFile& a, const CorpusFile& b) { return a.path < b.path; });
  return files;
}

// The reader has two layers: raw lines of the file, and the lines of text that they hold.
struct LineReader::State {
  std::string path;
  CorpusOptions options;
  Form form = Form::kPlain;
  std::unique_ptr<ByteSource> source;

  std::string buffer;  // [begin, end) is unread; nothing before `scanned` is a line end
  size_t begin = 0, scanned = 0, end = 0;
  bool at_end = false;
  int64_t line = 0, line_offset = 0;  // of the current raw line
  int64_t read = 0;
  Sha256 sha;
  std::string file_start;  // its first bytes, for advice on encodings
  int64_t replaced = 0;
  std::string first_replaced, repaired;

  std::string record;  // text of the current .jsonl or .tsv record, and what is left of it
  std::string_view rest;
  bool in_record = false, blank_due = false, record_ended = false;
  std::string label;                    // of that record
  size_t column = 0, label_column = 0;  // .tsv, from 0
  bool column_known = false;

  Result<> fill();
  Result<bool> next_raw(std::string_view& out);
  Result<bool> next_valid(std::string_view& out);
  Result<bool> next_record_line(std::string_view& out);
  Result<> parse_json_record(std::string_view raw);
  Result<bool> parse_tsv_record(std::string_view raw);
  Result<> find_column(const std::string& wanted, std::string_view raw, size_t& found_at,
                       bool& is_header);
  Result<> find_columns(std::string_view raw, bool& is_header);
  std::string place() const { return fmt::format("{}: line {}", path, line); }
};

// Reads one more chunk behind `end`, making room first.
Result<> LineReader::State::fill() {
  if (begin > 0) {
    std::memmove(buffer.data(), buffer.data() + begin, end - begin);
    end -= begin, scanned -= begin, begin = 0;
  }
  if (static_cast<int64_t>(end) > options.max_line_bytes)
    return fail_hint(Code::kInvalidArgument, "split the text into lines, or raise --max-line-bytes",
                     "{}: line {} is longer than {} bytes", path, line + 1, options.max_line_bytes);
  if (buffer.size() < end + kChunk) buffer.resize(std::max(end + kChunk, 2 * buffer.size()));
  const std::span room(reinterpret_cast<uint8_t*>(buffer.data()) + end, buffer.size() - end);
  HW_ASSIGN_OR_RETURN(const size_t n, source->read(room));
  sha.update(std::span<const uint8_t>(room.first(n)));
  if (file_start.size() < 4) file_start.append(buffer, end, std::min<size_t>(n, 4));
  end += n;
  read += static_cast<int64_t>(n);
  at_end = n == 0;
  return {};
}

// A line as it stands in the file, without LF or CR LF.
Result<bool> LineReader::State::next_raw(std::string_view& out) {
  while (true) {
    const char* from = buffer.data() + scanned;
    const auto* newline =
        scanned < end ? static_cast<const char*>(std::memchr(from, '\n', end - scanned)) : nullptr;
    if (newline == nullptr && !at_end) {
      scanned = end;
      HW_RETURN_IF_ERROR(fill());
      continue;
    }
    if (newline == nullptr && begin == end) return false;
    const size_t stop = newline != nullptr ? newline - buffer.data() : end;
    out = std::string_view(buffer).substr(begin, stop - begin);
    if (static_cast<int64_t>(out.size()) > options.max_line_bytes)
      return fail_hint(
          Code::kInvalidArgument, "split the text into lines, or raise --max-line-bytes",
          "{}: line {} is longer than {} bytes", path, line + 1, options.max_line_bytes);
    line_offset = read - static_cast<int64_t>(end - begin);
    begin = scanned = newline != nullptr ? stop + 1 : end;
    if (out.ends_with('\r')) out.remove_suffix(1);
    if (++line == 1 && out.starts_with(kByteOrderMark)) {
      out.remove_prefix(kByteOrderMark.size());
      line_offset += static_cast<int64_t>(kByteOrderMark.size());
    }
    return true;
  }
}

Result<bool> LineReader::State::next_valid(std::string_view& out) {
  HW_ASSIGN_OR_RETURN(const bool more, next_raw(out));
  if (!more) return false;
  const auto bad = first_invalid_utf8(out);
  if (!bad) return true;
  const int64_t offset = line_offset + static_cast<int64_t>(*bad);
  if (options.invalid_utf8 != "replace")
    return fail_hint(Code::kInvalidArgument, encoding_hint(file_start),
                     "{}: invalid UTF-8 at byte {} of the file", place(), offset);
  if (replaced++ == 0) first_replaced = fmt::format("{}, byte {}", place(), offset);
  repaired = replace_invalid_utf8(out);
  out = repaired;
  return true;
}

Result<> LineReader::State::parse_json_record(std::string_view raw) {
  RecordEvents events{options.text_field, options.label, record, label};
  const bool parsed = Json::sax_parse(raw, &events) && events.found;
  if (parsed && (events.found_label || !options.label)) return {};
  // Once more, for the words to say what is wrong.
  HW_ASSIGN_OR_RETURN(const Json json, parse_json(raw, place()));
  if (!json.is_object()) return fail(Code::kInvalidArgument, "{}: not a JSON object", place());
  if (parsed)
    return fail_hint(Code::kInvalidArgument, "name the field that holds it: --label",
                     "{}: no number or text in field '{}'", place(), *options.label);
  std::string names;
  for (const auto& [name, value] : json.items())
    if (value.is_string()) names += (names.empty() ? "" : ", ") + name;
  return fail_hint(Code::kInvalidArgument, "name the field that holds the text: --text-field",
                   "{}: no text in field '{}'; text fields found: {}", place(), options.text_field,
                   names.empty() ? "none" : names);
}

// A column by its number from 1, or by a name that the first line, `raw`, must hold.
Result<> LineReader::State::find_column(const std::string& wanted, std::string_view raw,
                                        size_t& found_at, bool& is_header) {
  int64_t number = 0;
  const auto [stop, error] = std::from_chars(wanted.data(), wanted.data() + wanted.size(), number);
  if (error == std::errc() && stop == wanted.data() + wanted.size()) {
    if (number < 1) return fail(Code::kInvalidArgument, "column {}: must be 1 or more", number);
    found_at = static_cast<size_t>(number - 1);
    return {};
  }
  const auto names = split(raw, '\t');
  const auto found = std::find(names.begin(), names.end(), wanted);
  if (found == names.end())
    return fail_hint(Code::kInvalidArgument, "a table without a heading takes a number from 1",
                     "{}: no column '{}' in the first line '{}'", path, wanted, raw.substr(0, 100));
  found_at = static_cast<size_t>(found - names.begin());
  is_header = true;
  return {};
}

Result<> LineReader::State::find_columns(std::string_view raw, bool& is_header) {
  is_header = false;
  if (!options.tsv_column)
    return fail_hint(Code::kInvalidArgument,
                     "name the column that holds the text: --tsv-column NAME, or a number from 1",
                     "{}: a table, but no column was chosen; its first line is '{}'", path,
                     raw.substr(0, 100));
  HW_RETURN_IF_ERROR(find_column(*options.tsv_column, raw, column, is_header));
  if (!options.label) return {};
  return find_column(*options.label, raw, label_column, is_header);
}

// False for the heading.
Result<bool> LineReader::State::parse_tsv_record(std::string_view raw) {
  if (!column_known) {
    bool is_header = false;
    HW_RETURN_IF_ERROR(find_columns(raw, is_header));
    column_known = true;
    if (is_header) return false;
  }
  const auto cells = split(raw, '\t');
  if (column >= cells.size())
    return fail(Code::kInvalidArgument, "{}: {} columns, but the text is in column {}", place(),
                cells.size(), column + 1);
  record = cells[column];
  if (!options.label) return true;
  if (label_column >= cells.size())
    return fail(Code::kInvalidArgument, "{}: {} columns, but the label is in column {}", place(),
                cells.size(), label_column + 1);
  label = cells[label_column];
  return true;
}

// The lines of a record's text, then a blank line that ends the document.
Result<bool> LineReader::State::next_record_line(std::string_view& out) {
  record_ended = false;
  while (!in_record) {
    if (blank_due) {
      blank_due = false;
      record_ended = true;
      out = {};
      return true;
    }
    std::string_view raw;
    HW_ASSIGN_OR_RETURN(const bool more, next_valid(raw));
    if (!more) return false;
    if (strip_white_space(raw).empty()) continue;
    if (form == Form::kJsonLines) {
      HW_RETURN_IF_ERROR(parse_json_record(raw));
    } else {
      HW_ASSIGN_OR_RETURN(const bool is_record, parse_tsv_record(raw));
      if (!is_record) continue;
    }
    rest = record;
    in_record = true;
  }
  const size_t newline = rest.find('\n');
  out = rest.substr(0, newline);
  if (out.ends_with('\r')) out.remove_suffix(1);
  in_record = newline != std::string_view::npos;
  if (in_record) rest.remove_prefix(newline + 1);
  blank_due = !in_record;
  return true;
}

LineReader::LineReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
LineReader::LineReader(LineReader&&) noexcept = default;
LineReader& LineReader::operator=(LineReader&&) noexcept = default;
LineReader::~LineReader() = default;

Result<LineReader> LineReader::open(FileSystem& fs, const std::string& path,
                                    const CorpusOptions& options) {
  auto state = std::make_unique<State>();
  state->path = path;
  state->options = options;
  state->form = form_of(path);
  HW_ASSIGN_OR_RETURN(state->source, open_decompressed(fs, path));
  return LineReader(std::move(state));
}

Result<bool> LineReader::next(std::string_view& line) {
  return state_->form == Form::kPlain ? state_->next_valid(line) : state_->next_record_line(line);
}

bool LineReader::holds_records() const { return state_->form != Form::kPlain; }
const std::string& LineReader::label() const { return state_->label; }
bool LineReader::record_ended() const { return state_->record_ended; }
int64_t LineReader::line_number() const { return state_->line; }
int64_t LineReader::bytes_read() const { return state_->read; }
int64_t LineReader::replaced_lines() const { return state_->replaced; }
std::string LineReader::first_replaced() const { return state_->first_replaced; }
std::string LineReader::digest() { return state_->sha.hex(); }

}  // namespace headwater
