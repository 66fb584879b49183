// Tables of texts: tab-separated, comma-separated (RFC 4180) and one JSON object per line, as rows
// of cells with the line each began in. Which column means what is task_data.h.
//
// Tab-separated cells are taken as they stand, quotes included, unless the reader is told that
// they are quoted; comma-separated ones may always be. Empty lines are passed over.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "io/file.h"

namespace headwater {

enum class TableFormat { kTsv, kCsv, kJsonl };

struct TableOptions {
  std::string format = "auto";  // tsv, csv, jsonl; auto: by the file's name, else tsv
  bool header = false;          // the first row names the columns; JSON always does
  bool quotes = false;          // of tab-separated cells
};

struct TableRow {
  int64_t line = 0;  // from 1
  // A cell that a JSON object lacks is none. The parts of a JSON list are separated by tabs.
  std::vector<std::optional<std::string>> cells;
};

struct TaskTable {
  std::string path;
  TableFormat format = TableFormat::kTsv;
  std::vector<std::string> columns;  // names; without a header their numbers from 1
  std::vector<TableRow> rows;

  // By name, or by number from 1 where no column is called so. An error lists the columns.
  Result<size_t> column(std::string_view name) const;
  std::optional<size_t> find_column(std::string_view name) const;
};

// `content` is valid UTF-8. A row with more or fewer cells than the first, quotes that do not end
// and JSON that is none are errors with file and line.
Result<TaskTable> parse_table(std::string_view content, const std::string& path,
                              const TableOptions& options);

// A whole file, unpacked, without a byte order mark, checked to be UTF-8.
Result<std::string> read_text_file(FileSystem& fs, const std::string& path);
// The same of a standard stream or any other source.
Result<std::string> read_text(ByteSource& source, const std::string& name);

}  // namespace headwater
