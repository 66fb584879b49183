#include "finetune/task_data.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "base/described.h"
#include "base/digest.h"

namespace headwater {
namespace {

constexpr int64_t kMostLabels = 1 << 16;

std::string place(const TaskData& data, int64_t line) {
  return fmt::format("{}:{}", data.path, line);
}

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const size_t end = std::min(text.find(separator), text.size());
    parts.emplace_back(trimmed(text.substr(0, end)));
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The column of the first alternative that is there.
Result<size_t> find_column(const TaskTable& table, const std::string& alternatives) {
  const std::vector<std::string> names = split(alternatives, '|');
  for (const std::string& name : names) {
    if (const auto found = table.find_column(name)) return *found;
  }
  return table.column(names.front());
}

struct Columns {
  size_t text = 0;
  std::optional<size_t> pair, label;
};

Result<Columns> find_columns(const TaskTable& table, const Task& task, bool labels_optional) {
  Columns columns;
  const auto named = [](Result<size_t> found, const char* flag) -> Result<size_t> {
    if (!found) found.error().hint = fmt::format("say which one it is: {}", flag);
    return found;
  };
  HW_ASSIGN_OR_RETURN(columns.text, named(find_column(table, task.text_column), "--text-column"));
  if (!task.pair_column.empty()) {
    HW_ASSIGN_OR_RETURN(columns.pair, named(find_column(table, task.pair_column), "--pair-column"));
  }
  auto label = named(find_column(table, task.label_column), "--label-column");
  if (label) columns.label = *label;
  else if (!labels_optional) return tl::unexpected<Error>(std::move(label).error());
  return columns;
}

// With a header where the task has one, or where the first row names the text's column.
Result<TaskTable> open_table(std::string_view content, const std::string& path, const Task& task,
                             TableOptions options) {
  options.header = task.header.value_or(true);
  HW_ASSIGN_OR_RETURN(TaskTable table, parse_table(content, path, options));
  if (task.header || table.format == TableFormat::kJsonl) return table;
  const std::vector<std::string> names = split(task.text_column, '|');
  const bool is_named = std::ranges::any_of(names, [&](const std::string& name) {
    return std::ranges::find(table.columns, name) != table.columns.end();
  });
  if (is_named) return table;
  options.header = false;
  return parse_table(content, path, options);
}

Result<std::string> text_cell(const TaskData& data, const TableRow& row, size_t column) {
  const auto& cell = row.cells[column];
  if (cell && !trimmed(*cell).empty()) return *cell;
  return fail_hint(Code::kInvalidArgument, "fill it in, or take the row out", "{}: the text is {}",
                   place(data, row.line), cell ? "empty" : "missing");
}

Result<> read_label(const Task& task, const TaskTable& table, const TableRow& row, size_t column,
                    TaskExample& example, TaskData& data) {
  const std::string text(trimmed(row.cells[column].value_or("")));
  if (task.kind == TaskKind::kMultiLabel) {
    if (!text.empty())
      example.label_texts = split(text, table.format == TableFormat::kJsonl ? '\t' : ',');
    return {};
  }
  if (text.empty()) {
    return fail_hint(Code::kInvalidArgument, "fill it in, or take the row out",
                     "{}: the label is missing", place(data, row.line));
  }
  if (task.kind == TaskKind::kRegression) {
    const auto value = parse_number<float>(text);
    if (!value || !std::isfinite(*value))
      return fail(Code::kInvalidArgument, "{}: '{}' is no number", place(data, row.line), text);
    example.value = *value;
    return {};
  }
  example.label_texts = {text};
  return {};
}

Result<> parse_rows(std::string_view content, const Task& task, const ReadOptions& options,
                    TaskData& data) {
  HW_ASSIGN_OR_RETURN(const TaskTable table, open_table(content, data.path, task, options.table));
  HW_ASSIGN_OR_RETURN(const Columns columns, find_columns(table, task, options.labels_optional));
  data.labelled = columns.label.has_value();
  for (const TableRow& row : table.rows) {
    TaskExample example;
    example.line = row.line;
    HW_ASSIGN_OR_RETURN(example.text, text_cell(data, row, columns.text));
    if (columns.pair) {
      HW_ASSIGN_OR_RETURN(example.pair, text_cell(data, row, *columns.pair));
    }
    if (columns.label)
      HW_RETURN_IF_ERROR(read_label(task, table, row, *columns.label, example, data));
    data.examples.push_back(std::move(example));
  }
  return {};
}

// Every label text is a number that can be an index.
bool are_indices(const std::map<std::string, int64_t, std::less<>>& texts) {
  return std::ranges::all_of(texts, [](const auto& text) {
    const auto number = parse_number<int64_t>(text.first);
    return number && *number >= 0 && *number < kMostLabels;
  });
}

}  // namespace

Result<TaskData> parse_task_data(std::string_view content, const std::string& path,
                                 const Task& task, const ReadOptions& options) {
  TaskData data;
  data.path = path;
  data.digest = sha256_hex(content);
  switch (task.kind) {
    case TaskKind::kTokens:
      HW_RETURN_IF_ERROR(parse_tagged_words(content, data, options.labels_optional));
      break;
    case TaskKind::kQuestions:
      HW_RETURN_IF_ERROR(parse_questions(content, data, options.labels_optional));
      break;
    default: HW_RETURN_IF_ERROR(parse_rows(content, task, options, data)); break;
  }
  if (data.examples.empty()) return fail(Code::kInvalidArgument, "{} holds no examples", path);
  return data;
}

Result<TaskData> read_task_data(FileSystem& fs, const std::string& path, const Task& task,
                                const ReadOptions& options) {
  HW_ASSIGN_OR_RETURN(const std::string content, read_text_file(fs, path));
  return parse_task_data(content, path, task, options);
}

std::vector<std::string> collect_labels(const Task& task, std::span<const TaskExample> examples) {
  if (task.kind == TaskKind::kRegression) return {"value"};
  std::map<std::string, int64_t, std::less<>> texts;
  for (const TaskExample& example : examples) {
    for (const std::string& text : example.label_texts) ++texts[text];
  }
  std::vector<std::string> names;
  if (!texts.empty() && are_indices(texts)) {
    int64_t largest = 0;
    for (const auto& [text, count] : texts)
      largest = std::max(largest, parse_number<int64_t>(text).value_or(0));
    for (int64_t i = 0; i <= largest; ++i) names.push_back(fmt::format("{}", i));
    return names;
  }
  for (const auto& [text, count] : texts) names.push_back(text);
  return names;
}

Result<> resolve_labels(const Task& task, std::span<const std::string> names, TaskData& data) {
  if (task.kind == TaskKind::kRegression || task.kind == TaskKind::kQuestions) return {};
  std::map<std::string_view, int32_t> indices;
  for (size_t i = 0; i < names.size(); ++i) indices.emplace(names[i], static_cast<int32_t>(i));
  int64_t repeated = 0;
  for (TaskExample& example : data.examples) {
    for (const std::string& text : example.label_texts) {
      const auto named = indices.find(text);
      const auto number = parse_number<int64_t>(text);
      const bool in_range = number && *number >= 0 && *number < static_cast<int64_t>(names.size());
      if (named == indices.end() && !in_range) {
        const std::string nearest = nearest_name(text, names);
        return fail_hint(
            Code::kInvalidArgument,
            number ? fmt::format("indices are 0 to {}", names.size() - 1)
            : nearest.empty()
                ? fmt::format("labels are: {}",
                              fmt::join(names.first(std::min<size_t>(names.size(), 20)), ", "))
                : fmt::format("did you mean {}?", nearest),
            "{}: there is no label '{}' among {}", place(data, example.line), text, names.size());
      }
      example.labels.push_back(named != indices.end() ? named->second
                                                      : static_cast<int32_t>(*number));
    }
    if (task.kind != TaskKind::kMultiLabel) continue;
    std::ranges::sort(example.labels);
    const auto rest = std::ranges::unique(example.labels);
    repeated += rest.empty() ? 0 : 1;
    example.labels.erase(rest.begin(), rest.end());
  }
  if (repeated > 0) {
    data.notes.push_back(fmt::format("{}: {} {} a label that they have already; it counts once",
                                     data.path, repeated,
                                     repeated == 1 ? "row repeats" : "rows repeat"));
  }
  return {};
}

}  // namespace headwater
