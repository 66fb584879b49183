// The tokenizer of a build: which rules of case and accents it gets, and what a task asks of it.
#pragma once

#include <string>
#include <vector>

#include "records/records_build.h"

namespace headwater {

// Decisions that a person should know go to `notes`. See build_records for `origins`.
Result<AnyTokenizer> open_build_tokenizer(FileSystem& fs, const RecordsBuildOptions& options,
                                          RecordsTask task, const Fields* origins,
                                          std::vector<std::string>& notes);

}  // namespace headwater
