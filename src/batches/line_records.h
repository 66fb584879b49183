// Files of lines as records: JSON objects with the features of a record, or plain text that
// somebody turns into tokens. Each line becomes a tf.train.Example, so that everything behind is
// the same as for records from TFRecord files.
//
// Not here: tokens; files (record_set.h).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "io/file.h"
#include "records/example.h"

namespace headwater {

enum class RecordFormat { kTfRecord, kJsonLines, kText };
// "tfrecord", "jsonl", "txt".
Result<RecordFormat> parse_record_format(std::string_view name);
std::string_view record_format_name(RecordFormat format);

// {"input_ids": [5, 6], "label": 1}: the features that `specs` name; other keys are passed over,
// and null is a missing feature. Nested lists are one list. Errors name the key, what was found and
// what is expected.
Result<std::string> record_of_json_line(std::string_view line, std::span<const FeatureSpec> specs);

// The same without a description: every key that holds numbers, texts or lists of them, of the type
// that all its values have. Other keys, and empty lists, are passed over.
Result<Example> example_of_json_line(std::string_view line);

// The first line of a file, plain or compressed, that is not empty; none in a file without any.
Result<std::optional<std::string>> first_line(FileSystem& fs, const std::string& path);

// One text as tokens.
using EncodeText = std::function<Result<std::vector<int32_t>>(std::string_view text)>;
// The record whose input_ids are the tokens of `line`.
Result<std::string> record_of_text_line(std::string_view line, const EncodeText& encode);

}  // namespace headwater
