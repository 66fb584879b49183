// From a corpus to shards of ELECTRA examples: `records build`.
//
// The result is a pure function of the corpus, the vocabulary, the options and the seed: not of the
// number of threads, and not of the order in which files are found. Memory does not grow with the
// corpus. Files, rounds of text and shards: records/example_lane.h, records/shard_set.h.
//
// Where this differs from google's build_pretraining_dataset.py: draws come from a seed; the order
// of files is drawn from it too; the n-th example of the whole build goes to shard n % shards; an
// output folder is never deleted; "--blanks-separate-docs False" means false (there, any text means
// true).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/described.h"
#include "base/error.h"
#include "io/file.h"
#include "records/example_lane.h"
#include "records/shard_set.h"
#include "text/corpus.h"

namespace headwater {

struct ElectraBuildOptions {
  std::string corpus_dir, vocab_file, output_dir;
  int64_t max_seq_length = 128;
  std::optional<int64_t> num_out_files;
  std::optional<int64_t> num_processes;
  int64_t seed = 0;
  bool overwrite = false;

  bool blanks_separate_docs = true;
  bool split_long_lines = false;
  CorpusOptions corpus;

  // Unless one of --do-lower-case and --no-lower-case was given, the vocabulary decides. Accents
  // are stripped only when lower-casing, as in the original.
  bool lower_case_by_vocabulary = true;
  TokenizerOptions tokenizer;

  void describe(Fields& f);
  Result<> resolve(Fields& f);
};

struct ElectraBuildSummary {
  BuildCounts counts;
  std::vector<ShardInfo> shards;
  UnknownReport unknown;
  std::string first_replaced;         // where the first invalid UTF-8 stood; empty when none
  std::vector<std::string> notes;     // decisions that a person should know
  std::vector<std::string> warnings;  // what is probably not as wanted
};

// `stop` is asked between rounds; true ends the build with kCancelled, and nothing is left behind.
Result<ElectraBuildSummary> build_electra_records(FileSystem& fs,
                                                  const ElectraBuildOptions& options,
                                                  const std::function<bool()>& stop = {});

// Whether text for this vocabulary should be lower-cased: it holds no piece with an upper-case
// letter, which lower-cased text could not reach, and no Hangul syllable, which accent stripping
// takes apart.
bool vocabulary_wants_lower_case(const Vocabulary& vocabulary);

}  // namespace headwater
