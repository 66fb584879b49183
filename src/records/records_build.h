// From a corpus to shards of examples: `records build`, for every task.
//
// The result is a pure function of the corpus, the tokenizer, the options and the seed: not of the
// number of threads, and not of the order in which files are found. Memory does not grow with the
// corpus. Files and rounds of text: records/build_lane.h. Shards: records/shard_set.h. What an
// example is: records/electra_examples.h, gpt_examples.h, bert_examples.h, raw_examples.h.
//
// Where --task electra differs from google's build_pretraining_dataset.py: draws come from a seed;
// the order of files is drawn from it too; the n-th example of the whole build goes to shard n %
// shards; an output folder is never deleted; "--blanks-separate-docs False" means false (there, any
// text means true).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/described.h"
#include "base/error.h"
#include "io/file.h"
#include "records/build_lane.h"
#include "records/exclusion.h"
#include "records/shard_set.h"
#include "text/corpus.h"

namespace headwater {

enum class RecordsTask : uint8_t { kElectra, kGpt, kBert, kRaw };
std::string_view records_task_name(RecordsTask task);
Result<RecordsTask> parse_records_task(std::string_view name);

struct RecordsBuildOptions {
  std::string corpus_dir, vocab_file, output_dir;
  std::vector<std::string> exclude;  // files or folders of texts that are left out
  std::string task = "electra";
  int64_t max_seq_length = 128;  // resolve(): of gpt 1024, of raw 512
  std::optional<int64_t> num_out_files;
  std::optional<int64_t> num_processes;
  int64_t seed = 0;
  bool overwrite = false;

  bool blanks_separate_docs = true;
  bool split_long_lines = false;
  GptOptions gpt;
  BertOptions bert;
  RawOptions raw;
  CorpusOptions corpus;

  // Unless one of --do-lower-case and --no-lower-case was given, the tokenizer's files or else the
  // vocabulary decide. Of electra accents are stripped only when lower-casing, as in the original.
  bool lower_case_by_vocabulary = true;
  TokenizerOptions tokenizer;

  void describe(Fields& f);
  // Defaults of the task; options that it does not have are an error.
  Result<> resolve(Fields& f);
};

struct RecordsBuildSummary {
  RecordsTask task = RecordsTask::kElectra;
  BuildCounts counts;
  std::vector<ShardInfo> shards;
  UnknownReport unknown;
  int64_t excluded_texts = 0;             // that were looked for
  std::vector<BuildInput> exclude_files;  // that hold them
  std::string first_replaced;             // where the first invalid UTF-8 stood; empty when none
  std::vector<std::string> notes;         // decisions that a person should know
  std::vector<std::string> warnings;      // what is probably not as wanted
};

// `stop` is asked between rounds; true ends the build with kCancelled, and nothing is left behind.
// `origins`: describes `options`; what was given there outranks what the tokenizer's files ask for.
// Without it, what differs from its default counts as given.
Result<RecordsBuildSummary> build_records(FileSystem& fs, const RecordsBuildOptions& options,
                                          const std::function<bool()>& stop = {},
                                          const Fields* origins = nullptr);

// Names of options that the task does not have.
std::vector<std::string_view> options_without_say(RecordsTask task);

// Whether text for this vocabulary should be lower-cased: it holds no piece with an upper-case
// letter, which lower-cased text could not reach, and no Hangul syllable, which accent stripping
// takes apart.
bool vocabulary_wants_lower_case(const Vocabulary& vocabulary);

}  // namespace headwater
