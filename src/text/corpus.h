// Corpus files as a stream of lines: the first step of the data's way.
//
// A corpus is a folder (or one file) of UTF-8 text; .gz, .zst and .xz are unpacked on the fly, and
// names choose the form: .jsonl (a JSON object per line, the text in one field), .tsv (one column),
// anything else plain lines. Memory is bounded by the longest line, not by the file. What is not
// valid UTF-8 is an error, or is replaced, with file, line and byte offset.
//
// Documents: in plain files a blank line ends a document. A record of .jsonl or .tsv is a document:
// its text is passed on line by line, followed by one blank line.
//
// Not here: sentence splitting, normalisation, tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/described.h"
#include "base/digest.h"
#include "base/error.h"
#include "io/file.h"

namespace headwater {

// How corpus files are read; shared by every verb that reads a corpus.
struct CorpusOptions {
  std::string invalid_utf8 = "error";     // or "replace": by U+FFFD
  std::string text_field = "text";        // .jsonl: the field that holds the text
  std::optional<std::string> tsv_column;  // .tsv: a number from 1, or a name in the first line
  int64_t max_line_bytes = int64_t{64} << 20;
  // What is kept of a record beside its text: a field of .jsonl, a column of .tsv by number or
  // name.
  std::optional<std::string> label;

  void describe(Fields& f);  // all but the label, which few verbs have a use for
};

struct CorpusFile {
  std::string path;
  int64_t size = 0;  // bytes on disk, before unpacking
};

// The files of a corpus, sorted by path: one file, or all files of a folder and its subfolders
// except hidden ones (a leading dot). A folder without files is an error.
Result<std::vector<CorpusFile>> list_corpus(FileSystem& fs, const std::string& path);

class LineReader {
 public:
  static Result<LineReader> open(FileSystem& fs, const std::string& path,
                                 const CorpusOptions& options = {});
  LineReader(LineReader&&) noexcept;
  LineReader& operator=(LineReader&&) noexcept;
  ~LineReader();

  // The next line without its end (LF or CR LF); false at the end of the file. The view is valid
  // until the next call. A byte order mark at the start of the file is skipped.
  Result<bool> next(std::string_view& line);

  bool holds_records() const;  // .jsonl or .tsv
  bool record_ended() const;   // the last line was the blank one that follows a record's text
  // Of the record that the last lines are from, as it stands there: "3".
  const std::string& label() const;

  int64_t line_number() const;         // of the last line, from 1, counted in the file
  int64_t bytes_read() const;          // of the unpacked file
  int64_t replaced_lines() const;      // lines with invalid UTF-8 that were repaired
  std::string first_replaced() const;  // where the first of them stands; empty when none
  // SHA-256 of the unpacked file; complete once next() has returned false.
  std::string digest();

 private:
  struct State;
  explicit LineReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace headwater
