// The examples of a downstream task, from files as people have them:
//
//   tables            tsv, csv, jsonl (table_file.h): a text, perhaps a second one, labels by name
//                     or index, several separated by commas, or a number to estimate
//   words with tags   a word and its tag a line, separated by a tab or a blank, an empty line
//                     between sequences; or a JSON object a line with "tokens" and "tags"
//   questions         JSON as SQuAD 1.1, 2.0 and KorQuAD 1.0 have it
//
// What a file says wrongly is an error with file, line, and what to do.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "finetune/table_file.h"
#include "finetune/task.h"

namespace headwater {

struct Answer {
  std::string text;
  size_t begin = 0;  // byte of the context
};

struct TaskExample {
  int64_t line = 0;                      // where it begins in its file; of questions 0
  std::string id;                        // of questions
  std::string text, pair;                // of questions: the question and its context
  std::vector<std::string> words;        // of tokens
  std::vector<std::string> label_texts;  // as the file has them; of tokens one per word
  std::vector<int32_t> labels;           // their indices: resolve_labels()
  float value = 0;                       // of regressions
  std::vector<Answer> answers;           // none: the question has no answer
};

struct TaskData {
  std::string path, digest;  // SHA-256 of the unpacked file
  std::vector<TaskExample> examples;
  bool labelled = true;
  std::vector<std::string> notes;  // what a person should know
};

struct ReadOptions {
  TableOptions table;
  bool labels_optional = false;  // for predictions
};

// `content` is valid UTF-8.
Result<TaskData> parse_task_data(std::string_view content, const std::string& path,
                                 const Task& task, const ReadOptions& options);
Result<TaskData> read_task_data(FileSystem& fs, const std::string& path, const Task& task,
                                const ReadOptions& options);

// All labels that occur, for tasks that have no list: numbers 0, 1, .. up to the largest, else
// names in the order of their bytes.
std::vector<std::string> collect_labels(const Task& task, std::span<const TaskExample> examples);
// Sets the indices. A label is a name of the list or an index into it.
Result<> resolve_labels(const Task& task, std::span<const std::string> names, TaskData& data);

// Parsers of the kinds that are no tables.
Result<> parse_tagged_words(std::string_view content, TaskData& data, bool labels_optional);
Result<> parse_questions(std::string_view content, TaskData& data, bool answers_optional);

}  // namespace headwater
