#include "records/build_report.h"

#include <nlohmann/json.hpp>

#include "base/digest.h"

namespace headwater {
namespace {

constexpr size_t kListedFiles = 10000;
constexpr double kLostShare = 0.01, kLowFill = 0.5, kManyRandomPairs = 0.6;

double share(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0.0;
}

int64_t copies_of(const RecordsBuildOptions& options) {
  return options.task == records_task_name(RecordsTask::kBert) ? options.bert.copies() : 1;
}

// Lines left out, where anything was to be.
Json excluded_json(const RecordsBuildSummary& summary) {
  Json files = Json::array();
  for (const BuildInput& file : summary.exclude_files)
    files.push_back({{"name", file.name}, {"bytes", file.bytes}, {"sha256", file.sha256}});
  return {{"texts", summary.excluded_texts},
          {"lines_that_hold_one", summary.counts.excluded_exact},
          {"lines_that_nearly_do", summary.counts.excluded_near},
          {"files", std::move(files)}};
}

Json counts_json(const RecordsBuildOptions& options, const RecordsBuildSummary& summary) {
  const BuildCounts& c = summary.counts;
  Json counts = {{"files", c.files},
                 {"bytes", c.bytes},
                 {"documents", c.documents},
                 {"lines", c.lines},
                 {"sentences", c.sentences},
                 {"split_lines", c.split_lines},
                 {"replaced_lines", c.replaced_lines},
                 {"examples", c.examples},
                 {"tokens", c.tokens},
                 {"kept_tokens", c.kept_tokens},
                 {"lost_tokens", c.lost_tokens},
                 {"unknown_tokens", c.unknown_tokens},
                 {"unknown_share", share(c.unknown_tokens, c.tokens)},
                 {"lines_not_nfc", summary.unknown.denormal_lines()},
                 {"fill_rate", fill_rate(c, options.max_seq_length)}};
  if (summary.task == RecordsTask::kElectra) return counts;
  counts["special_tokens"] = c.special_tokens;
  if (summary.task == RecordsTask::kRaw) counts["cut_examples"] = c.cut_examples;
  if (summary.task == RecordsTask::kGpt || summary.task == RecordsTask::kRaw)
    for (const char* name : {"sentences", "split_lines"}) counts.erase(name);
  if (c.pairs > 0) {
    counts["pairs"] = c.pairs;
    counts[options.bert.sentence_order ? "swapped_pairs" : "random_pairs"] = c.positive_pairs;
    if (!options.bert.sentence_order) counts["same_document_pairs"] = c.same_document_pairs;
  }
  return counts;
}

// Options as used, without those of other tasks and those that change nothing.
Json options_json(const RecordsBuildOptions& options, const AnyTokenizer& tokenizer,
                  const RecordsBuildSummary& summary) {
  RecordsBuildOptions copy = options;
  copy.tokenizer = tokenizer.options();
  copy.num_out_files = static_cast<int64_t>(summary.shards.size());
  Fields fields;
  copy.describe(fields);
  Json used = fields.to_json();
  for (const char* elsewhere : {"num_processes", "overwrite", "task"}) used.erase(elsewhere);
  if (options.exclude.empty()) used.erase("exclude");
  for (const std::string_view name : options_without_say(summary.task))
    used.erase(std::string(name));
  return used;
}

std::string lost_tokens_warning(const RecordsBuildOptions& options,
                                const RecordsBuildSummary& summary) {
  const BuildCounts& c = summary.counts;
  if (summary.task == RecordsTask::kRaw)
    return fmt::format(
        "{} of {} examples were cut at {} tokens, and {} of {} tokens ({:.1f} %) are lost; see "
        "--max-seq-length",
        c.cut_examples, c.examples, options.max_seq_length, c.lost_tokens, c.tokens,
        100 * lost_share(options, c));
  std::string text =
      fmt::format("{} of {} tokens ({:.1f} %) were cut off at the end of examples", c.lost_tokens,
                  c.tokens * copies_of(options), 100 * lost_share(options, c));
  if (!options.split_long_lines && c.long_line_lost > 0)
    return text + fmt::format(
                      ", {} of them from lines longer than an example: --split-long-lines keeps "
                      "most of them",
                      c.long_line_lost);
  return text + "; shorter lines or a larger --max-seq-length lose less";
}

void add_document_warnings(const RecordsBuildOptions& options, RecordsBuildSummary& summary) {
  const BuildCounts& c = summary.counts;
  auto& warnings = summary.warnings;
  const int64_t lines = summary.task == RecordsTask::kGpt ? c.lines : c.sentences;
  if (summary.task == RecordsTask::kRaw) return;
  if (options.blanks_separate_docs && c.documents == c.files_with_text && lines > c.documents)
    warnings.push_back(
        "each file counts as one document: no blank line stands between documents, so that "
        "examples may run across unrelated texts");
  if (summary.task == RecordsTask::kGpt) return;
  if (fill_rate(c, options.max_seq_length) < kLowFill && c.documents > c.examples / 2)
    warnings.push_back(fmt::format(
        "examples are {:.0f} % full, as documents are short; --blanks-separate-docs false fills "
        "them across documents",
        100 * fill_rate(c, options.max_seq_length)));
}

void add_pair_warnings(const RecordsBuildOptions& options, RecordsBuildSummary& summary) {
  const BuildCounts& c = summary.counts;
  if (options.bert.sentence_order) return;
  if (c.same_document_pairs > 0)
    summary.warnings.push_back(fmt::format(
        "{} of {} random next sentences are of the same document, as there was no other near it; "
        "put blank lines between documents, or use --sentence-order or --no-pairs",
        c.same_document_pairs, c.positive_pairs));
  if (share(c.positive_pairs, c.pairs) > kManyRandomPairs)
    summary.warnings.push_back(fmt::format(
        "{:.0f} % of the pairs have a random next sentence instead of half of them, as many "
        "documents have but one line: a sentence without a next one",
        100 * share(c.positive_pairs, c.pairs)));
}

}  // namespace

double fill_rate(const BuildCounts& counts, int64_t max_seq_length) {
  return share(counts.kept_tokens + counts.special_tokens, counts.examples * max_seq_length);
}

double lost_share(const RecordsBuildOptions& options, const BuildCounts& counts) {
  return share(counts.lost_tokens, counts.tokens * copies_of(options));
}

Json build_manifest(const RecordsBuildOptions& options, const AnyTokenizer& tokenizer,
                    const std::vector<BuildInput>& inputs, const RecordsBuildSummary& summary) {
  Sha256 all;
  Json files = Json::array();
  int64_t bytes = 0;
  for (const BuildInput& input : inputs) {
    all.update(fmt::format("{}\n{}\n{}\n", input.name, input.bytes, input.sha256));
    bytes += input.bytes;
    if (files.size() < kListedFiles)
      files.push_back({{"name", input.name}, {"bytes", input.bytes}, {"sha256", input.sha256}});
  }
  Json shards = Json::array();
  for (const ShardInfo& shard : summary.shards)
    shards.push_back({{"name", shard.name},
                      {"records", shard.records},
                      {"bytes", shard.bytes},
                      {"checksum", fmt::format("{:08x}", shard.checksum)}});
  Json manifest = {
      {"headwater_records", records_task_name(summary.task)},
      {"version", HW_VERSION},
      {"counts", counts_json(options, summary)},
      {"options", options_json(options, tokenizer, summary)},
      {"vocabulary",
       {{"file", tokenizer.name()}, {"size", tokenizer.size()}, {"sha256", tokenizer.digest()}}},
      {"inputs",
       {{"files", inputs.size()},
        {"bytes", bytes},
        {"sha256", all.hex()},
        {"list", std::move(files)}}},
      {"shards", std::move(shards)}};
  if (summary.excluded_texts > 0) manifest["excluded"] = excluded_json(summary);
  return manifest;
}

void add_build_warnings(const RecordsBuildOptions& options, const AnyTokenizer& tokenizer,
                        RecordsBuildSummary& summary) {
  const BuildCounts& c = summary.counts;
  auto& warnings = summary.warnings;
  if (c.replaced_lines > 0)
    warnings.push_back(fmt::format("{} lines held invalid UTF-8, which was replaced; the first: {}",
                                   c.replaced_lines, summary.first_replaced));
  if (c.excluded() * 2 > c.lines)
    warnings.push_back(fmt::format(
        "{} of {} lines are left out by --exclude: do its files hold the corpus itself?",
        c.excluded(), c.lines));
  for (std::string& warning : summary.unknown.warnings(tokenizer))
    warnings.push_back(std::move(warning));
  // Of raw examples every cut is worth a word: the corpus is a list of them.
  if (lost_share(options, c) > (summary.task == RecordsTask::kRaw ? 0 : kLostShare))
    warnings.push_back(lost_tokens_warning(options, summary));
  add_document_warnings(options, summary);
  add_pair_warnings(options, summary);
  const auto shards = static_cast<int64_t>(summary.shards.size());
  if (c.examples < shards)
    warnings.push_back(
        fmt::format("{} examples leave {} of {} shards empty; use a smaller "
                    "--num-out-files",
                    c.examples, shards - c.examples, shards));
}

}  // namespace headwater
