// Texts that a build leaves out, as those of a task's test set (`--exclude`): a model that has seen
// them in pre-training is judged too well. Read from files as a corpus is; what counts as the same
// text is text/excluded_texts.h.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "records/build_counts.h"
#include "text/corpus.h"
#include "text/excluded_texts.h"

namespace headwater {

struct Exclusion {
  ExcludedTexts texts;
  std::vector<BuildInput> files;
};

// Every line is a text, in .jsonl and .tsv that of the field or column of `options`. Paths are
// files or folders. No text at all is an error.
Result<Exclusion> read_exclusion(FileSystem& fs, std::span<const std::string> paths,
                                 const CorpusOptions& options);

}  // namespace headwater
