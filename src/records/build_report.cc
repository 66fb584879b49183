#include "records/build_report.h"

#include <nlohmann/json.hpp>

#include "base/digest.h"

namespace headwater {
namespace {

constexpr size_t kListedFiles = 10000;
constexpr double kLostShare = 0.01, kLowFill = 0.5;

double share(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0.0;
}

Json counts_json(const BuildCounts& c, int64_t not_nfc, int64_t max_seq_length) {
  return {{"files", c.files},
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
          {"lines_not_nfc", not_nfc},
          {"fill_rate", fill_rate(c, max_seq_length)}};
}

std::string lost_tokens_warning(const BuildCounts& c, bool split_long_lines) {
  std::string text = fmt::format("{} of {} tokens ({:.1f} %) were cut off at the end of examples",
                                 c.lost_tokens, c.tokens, 100 * share(c.lost_tokens, c.tokens));
  if (!split_long_lines && c.long_line_lost > 0)
    return text + fmt::format(
                      ", {} of them from lines longer than an example: --split-long-lines keeps "
                      "most of them",
                      c.long_line_lost);
  return text + "; shorter lines or a larger --max-seq-length lose less";
}

}  // namespace

double fill_rate(const BuildCounts& counts, int64_t max_seq_length) {
  // Specials: [CLS] and [SEP] count as tokens of an example; a second [SEP] hardly changes a rate.
  return share(counts.kept_tokens + 2 * counts.examples, counts.examples * max_seq_length);
}

Json build_manifest(const ElectraBuildOptions& options, const Tokenizer& tokenizer,
                    const std::vector<BuildInput>& inputs, const ElectraBuildSummary& summary) {
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
  ElectraBuildOptions copy = options;
  copy.tokenizer = tokenizer.options();
  copy.num_out_files = static_cast<int64_t>(summary.shards.size());
  Fields fields;
  copy.describe(fields);
  Json used = fields.to_json();
  for (const char* machine : {"num_processes", "overwrite"}) used.erase(machine);
  const Vocabulary& vocabulary = tokenizer.vocabulary();
  return {
      {"headwater_records", "electra"},
      {"version", HW_VERSION},
      {"counts",
       counts_json(summary.counts, summary.unknown.denormal_lines(), options.max_seq_length)},
      {"options", std::move(used)},
      {"vocabulary",
       {{"file", vocabulary.name()}, {"size", vocabulary.size()}, {"sha256", vocabulary.digest()}}},
      {"inputs",
       {{"files", inputs.size()},
        {"bytes", bytes},
        {"sha256", all.hex()},
        {"list", std::move(files)}}},
      {"shards", std::move(shards)}};
}

void add_build_warnings(const ElectraBuildOptions& options, const Tokenizer& tokenizer,
                        ElectraBuildSummary& summary) {
  const BuildCounts& c = summary.counts;
  auto& warnings = summary.warnings;
  if (c.replaced_lines > 0)
    warnings.push_back(fmt::format("{} lines held invalid UTF-8, which was replaced; the first: {}",
                                   c.replaced_lines, summary.first_replaced));
  for (std::string& warning : summary.unknown.warnings(tokenizer))
    warnings.push_back(std::move(warning));
  if (options.blanks_separate_docs && c.documents == c.files_with_text && c.sentences > c.documents)
    warnings.push_back(
        "each file counts as one document: no blank line stands between documents, so that "
        "examples "
        "may run across unrelated texts");
  if (share(c.lost_tokens, c.tokens) > kLostShare)
    warnings.push_back(lost_tokens_warning(c, options.split_long_lines));
  if (fill_rate(c, options.max_seq_length) < kLowFill && c.documents > c.examples / 2)
    warnings.push_back(fmt::format(
        "examples are {:.0f} % full, as documents are short; --blanks-separate-docs false fills "
        "them across documents",
        100 * fill_rate(c, options.max_seq_length)));
  const auto shards = static_cast<int64_t>(summary.shards.size());
  if (c.examples < shards)
    warnings.push_back(
        fmt::format("{} examples leave {} of {} shards empty; use a smaller "
                    "--num-out-files",
                    c.examples, shards - c.examples, shards));
}

}  // namespace headwater
