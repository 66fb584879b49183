// Options of `records build`: their description, and which of them which task has.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "records/records_build.h"

namespace headwater {
namespace {

constexpr std::array<std::string_view, 4> kTaskNames = {"electra", "gpt", "bert", "raw"};

// Options that not every task has, and the tasks that have them.
struct TaskOption {
  std::string_view name;
  std::vector<RecordsTask> tasks;
};
const std::vector<TaskOption>& task_options() {
  using enum RecordsTask;
  static const std::vector<TaskOption> options = {{"blanks_separate_docs", {kElectra, kGpt, kBert}},
                                                  {"split_long_lines", {kElectra, kBert}},
                                                  {"add_prefix_space", {kGpt, kBert, kRaw}},
                                                  {"end_of_text", {kGpt}},
                                                  {"one_document_per_example", {kGpt}},
                                                  {"last_block", {kGpt}},
                                                  {"pairs", {kBert}},
                                                  {"sentence_order", {kBert}},
                                                  {"short_seq_prob", {kBert}},
                                                  {"masking", {kBert}},
                                                  {"dupe_factor", {kBert}},
                                                  {"whole_word_masking", {kBert}},
                                                  {"masked_lm_prob", {kBert}},
                                                  {"max_predictions_per_seq", {kBert}},
                                                  {"pad", {kBert}},
                                                  {"add_special_tokens", {kRaw}},
                                                  {"label", {kRaw}}};
  return options;
}

bool has_option(RecordsTask task, const TaskOption& option) {
  return std::ranges::find(option.tasks, task) != option.tasks.end();
}

Result<> check_given(RecordsTask task, const Fields& fields) {
  for (const TaskOption& option : task_options()) {
    const Field& field = *fields.find(option.name);
    if (field.is_default() || has_option(task, option)) continue;
    std::string tasks;
    for (const RecordsTask other : option.tasks)
      tasks += fmt::format("{}{}", tasks.empty() ? "" : " and ", records_task_name(other));
    return fail(Code::kInvalidArgument, "{} is an option of --task {}, not of {}", field.flag(),
                tasks, records_task_name(task));
  }
  return {};
}

}  // namespace

std::string_view records_task_name(RecordsTask task) {
  return kTaskNames[static_cast<size_t>(task)];
}

Result<RecordsTask> parse_records_task(std::string_view name) {
  for (size_t i = 0; i < kTaskNames.size(); ++i)
    if (kTaskNames[i] == name) return static_cast<RecordsTask>(i);
  return fail(Code::kInvalidArgument, "task must be one of {}, got '{}'",
              fmt::join(kTaskNames, ", "), name);
}

std::vector<std::string_view> options_without_say(RecordsTask task) {
  std::vector<std::string_view> names;
  for (const TaskOption& option : task_options())
    if (!has_option(task, option)) names.push_back(option.name);
  return names;
}

void RecordsBuildOptions::describe(Fields& f) {
  f.group("Input and output");
  f("corpus_dir", corpus_dir,
    "folder (with subfolders) or file of UTF-8 text, plain or .gz, .zst, .xz; .jsonl and .tsv too")
      .required()
      .value_name("DIR");
  f("vocab_file", vocab_file,
    "WordPiece vocabulary, one token a line; or tokenizer.json, vocab.json with merges.txt beside "
    "it, or a folder that holds one of these")
      .alias("tokenizer")
      .required()
      .value_name("FILE");
  f("output_dir", output_dir, "where the shards go; a new or an empty folder")
      .required()
      .value_name("DIR");
  f("overwrite", overwrite, "replace the shards of an earlier build in the output folder");
  f("num_out_files", num_out_files,
    "number of shards; auto: one per 64 MB of corpus, 4 to 1000 (google: 1000)")
      .range(1, 100000);
  f.group("Examples");
  f("task", task,
    "what the examples are for: electra, gpt (blocks of text), bert (pairs of segments), raw (one "
    "example per line)")
      .one_of({kTaskNames.begin(), kTaskNames.end()});
  f("max_seq_length", max_seq_length,
    "tokens of an example, [CLS] and [SEP] included; gpt: 1024 unless given, raw: 512")
      .alias("block_size")
      .range(5, 65536);
  f("exclude", exclude,
    "files of texts, a line each, that must not be trained on, as a task's test set: lines of the "
    "corpus that hold one, or nearly, are left out and counted; .jsonl and .tsv as in the corpus")
      .value_name("FILE");
  f("blanks_separate_docs", blanks_separate_docs,
    "a blank line ends a document; false really means false here");
  f("split_long_lines", split_long_lines,
    "split lines longer than an example into sentences instead of cutting them off");
  f("seed", seed, "of all random decisions").alias("random_seed").non_negative();
  gpt.describe(f);
  bert.describe(f);
  raw.describe(f);
  f.group("Text");
  tokenizer.describe_all(f);
  corpus.describe(f);
  f.group("Machine");
  f("num_processes", num_processes, "threads; auto: one per core. The result is the same")
      .range(1, 4096)
      .alias("threads");
}

Result<> RecordsBuildOptions::resolve(Fields& f) {
  lower_case_by_vocabulary = f.find("do_lower_case")->is_default();
  HW_ASSIGN_OR_RETURN(const RecordsTask wanted, parse_records_task(task));
  HW_RETURN_IF_ERROR(check_given(wanted, f));
  const auto given = [&](const char* name) { return !f.find(name)->is_default(); };
  HW_RETURN_IF_ERROR(bert.check(given));
  if (gpt.one_document_per_example && given("last_block"))
    return fail(
        Code::kInvalidArgument,
        "--last-block is about joined documents, and --one-document-per-example joins none");
  if (wanted == RecordsTask::kGpt) return f.set_defaults({{"max_seq_length", 1024}}, "--task gpt");
  if (wanted == RecordsTask::kRaw) return f.set_defaults({{"max_seq_length", 512}}, "--task raw");
  return {};
}

}  // namespace headwater
