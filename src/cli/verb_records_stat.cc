// `records stat`: what record files hold, in numbers.
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/log.h"
#include "base/threads.h"
#include "cli/table.h"
#include "cli/verb.h"
#include "records/record_stats.h"
#include "records/records_manifest.h"

namespace headwater {
namespace {

constexpr int64_t kBins = 12;
constexpr int64_t kBarWidth = 40;
constexpr double kUnknownWarning = 0.02;

struct StatOptions {
  std::vector<std::string> paths;
  std::string vocab_file, on_damage = "stop";
  bool json = false;
  std::optional<int64_t> threads;

  void describe(Fields& f) {
    f("paths", paths, "record files, quoted patterns, or folders (their files named *.tfrecord*)")
        .positional()
        .required()
        .value_name("PATH");
    f("vocab_file", vocab_file,
      "vocabulary of the records, or a tokenizer's file or folder: adds the share of [UNK], and "
      "finds ids that it does not have")
        .alias("tokenizer")
        .value_name("FILE");
    f("on_damage", on_damage, "damaged records").one_of({"stop", "skip", "skip-file"});
    f("json", json, "print a JSON object");
    f("threads", threads, "threads; one file is read by one").alias("num_threads").positive();
  }
};

std::string row(std::string_view name, std::string_view value) {
  return fmt::format("{:<18}{}\n", name, value);
}

double percent(int64_t part, int64_t whole) {
  return whole > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0.0;
}

std::string feature_rows(const RecordStats& stats) {
  std::string text;
  size_t width = 16;
  for (const auto& [key, facts] : stats.features) width = std::max(width, key.size() + 1);
  for (const auto& [key, facts] : stats.features) {
    std::string types;
    for (size_t i = 0; i < facts.types.size(); ++i) {
      if (!facts.types[i]) continue;
      types += (types.empty() ? "" : " or ");
      types += feature_type_name(static_cast<FeatureType>(i));
    }
    const std::string size = facts.shortest == facts.longest
                                 ? grouped(facts.longest)
                                 : grouped(facts.shortest) + " to " + grouped(facts.longest);
    text += fmt::format("  {:<{}}{} {}{}\n", key, width, size, types,
                        facts.examples == stats.records
                            ? ""
                            : fmt::format(", in {} records only", grouped(facts.examples)));
  }
  return text;
}

std::string histogram_rows(const RecordStats& stats) {
  const TokenHistogram counts = histogram(stats.token_counts, kBins);
  int64_t most = 1;
  for (const auto& bin : counts.bins) most = std::max(most, bin.examples);
  std::string text;
  for (const auto& bin : counts.bins) {
    const std::string range =
        bin.low == bin.high ? grouped(bin.low) : grouped(bin.low) + "-" + grouped(bin.high);
    text += fmt::format("  {:>16}  {:<{}} {} ({:.1f} %)\n", range,
                        std::string(static_cast<size_t>(bin.examples * kBarWidth / most), '#'),
                        kBarWidth, grouped(bin.examples), percent(bin.examples, stats.examples));
  }
  return text;
}

std::string token_rows(const RecordStats& stats, bool with_vocabulary) {
  std::string text, lengths;
  constexpr size_t kListed = 8;
  size_t listed = 0;
  for (const auto& [length, facts] : stats.sequence_lengths) {
    if (listed++ == kListed) {
      lengths += fmt::format(", {} more", stats.sequence_lengths.size() - kListed);
      break;
    }
    if (!lengths.empty()) lengths += ", ";
    lengths += grouped(length);
    if (stats.sequence_lengths.size() > 1)
      lengths += fmt::format(" ({:.1f} %)", percent(facts.examples, stats.examples));
  }
  text += row("sequence length", lengths);
  text += row("tokens",
              fmt::format("{}, {:.1f} in an example, fill rate {:.1f} %", grouped(stats.tokens),
                          percent(stats.tokens, stats.examples) / 100, 100 * stats.fill_rate()));
  text += row("two segments",
              fmt::format("{:.1f} % of the examples", percent(stats.two_segments, stats.examples)));
  if (with_vocabulary) {
    text += row("[UNK]", fmt::format("{:.3f} % of {} ordinary tokens", 100 * stats.unknown_rate(),
                                     grouped(stats.ordinary)));
  }
  return text + "\ntokens in an example\n" + histogram_rows(stats);
}

std::string table(const RecordStats& stats, bool with_vocabulary) {
  std::string text = row(
      "files", grouped(stats.files) + (stats.empty_files > 0
                                           ? fmt::format(" ({} empty)", grouped(stats.empty_files))
                                           : std::string()));
  text += row("bytes", grouped(stats.bytes));
  text += row("records", grouped(stats.records));
  if (stats.damages > 0) text += row("damages skipped", grouped(stats.damages));
  if (stats.not_examples > 0) text += row("not examples", grouped(stats.not_examples));
  if (!stats.features.empty()) text += "features\n" + feature_rows(stats);
  if (stats.examples > 0) text += token_rows(stats, with_vocabulary);
  return text;
}

void warn(const RecordStats& stats, const StatsOptions& options) {
  if (stats.records == 0) log_warning("no records at all: nothing can be trained on these files");
  if (stats.not_examples > 0) {
    log_warning("{} of {} records are not tf.train.Examples", stats.not_examples, stats.records);
  }
  if (stats.sequence_lengths.size() > 1 && options.zeros_are_padding) {
    std::string places;
    for (const auto& [length, facts] : stats.sequence_lengths) {
      if (places.size() < 500) places += fmt::format("; {} first in {}", length, facts.first);
    }
    log_warning("sequence lengths differ, training with a fixed length will stop{}", places);
  }
  const AnyTokenizer* tokenizer = options.tokenizer;
  if (tokenizer == nullptr) return;
  if (stats.outside_vocabulary > 0) {
    log_warning(
        "{} ids are not in {} ({} tokens; largest id {}): the records were made with "
        "another vocabulary",
        stats.outside_vocabulary, tokenizer->name(), tokenizer->size(), stats.largest_id);
  }
  if (stats.unknown_rate() > kUnknownWarning) {
    log_warning(
        "{:.1f} % of the tokens are [UNK]: the text was lower-cased or decomposed (NFD), or "
        "this is not its vocabulary",
        100 * stats.unknown_rate());
  }
}

// Whether a manifest says of all files that their lists are not filled up.
bool known_without_padding(FileSystem& fs, const std::vector<FileInfo>& files) {
  const auto manifests = RecordsManifest::beside(fs, files);
  return manifests && !manifests->empty() &&
         std::ranges::none_of(*manifests, [](const RecordsManifest& m) { return m.padded; });
}

Result<int> run_records_stat(const StatOptions& options) {
  set_num_threads(static_cast<int>(options.threads.value_or(0)));
  FileSystem& fs = local_files();
  HW_ASSIGN_OR_RETURN(const std::vector<FileInfo> files, list_record_files(fs, options.paths));
  std::optional<AnyTokenizer> tokenizer;
  if (!options.vocab_file.empty()) {
    HW_ASSIGN_OR_RETURN(tokenizer, AnyTokenizer::open(fs, options.vocab_file));
  }
  StatsOptions what;
  HW_ASSIGN_OR_RETURN(what.reader.policy, parse_damage_policy(options.on_damage));
  what.zeros_are_padding = !known_without_padding(fs, files);
  if (tokenizer) what.tokenizer = &*tokenizer;
  HW_ASSIGN_OR_RETURN(const RecordStats stats, gather_stats(fs, files, what));
  const std::string text = options.json ? dump_json(to_json(stats, tokenizer.has_value()), 2) + "\n"
                                        : table(stats, tokenizer.has_value());
  std::fwrite(text.data(), 1, text.size(), stdout);
  warn(stats, what);
  return 0;
}

}  // namespace

Verb make_records_stat_verb() {
  return make_verb<StatOptions>(
      {.name = "records stat",
       .summary = "count the records, tokens and features of TFRecord files",
       .description =
           "Reads all records and tells how many there are, which features they have, and, for "
           "pre-training records, sequence length, tokens, fill rate, the share of examples with "
           "two segments and a histogram of lengths. With the vocabulary also the share of [UNK].",
       .examples = {{"headwater records stat records/ --vocab-file vocab.txt", ""},
                    {"headwater records stat 'records/*.tfrecord-*' --json", ""}}},
      run_records_stat);
}

}  // namespace headwater
