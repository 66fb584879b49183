// `records build`: a corpus to shards of ELECTRA examples.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>

#include "base/log.h"
#include "base/stop_signal.h"
#include "base/threads.h"
#include "cli/verb.h"
#include "records/build_report.h"
#include "records/electra_build.h"

namespace headwater {
namespace {

void print_summary(const ElectraBuildOptions& options, const ElectraBuildSummary& summary,
                   double seconds) {
  const BuildCounts& c = summary.counts;
  const auto percent = [](int64_t part, int64_t whole) {
    return whole > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0.0;
  };
  const double megabytes = static_cast<double>(c.bytes) / 1e6;
  fmt::print("{} examples of {} tokens in {} shards: {}\n", c.examples, options.max_seq_length,
             summary.shards.size(),
             join_path(options.output_dir, fmt::format("{}-*", ShardSet::kStem)));
  fmt::print("{} files, {} documents, {} lines, {} sentences, {} tokens\n", c.files, c.documents,
             c.lines, c.sentences, c.tokens);
  fmt::print("{:.1f} % full, {:.2f} % of the tokens [UNK], {:.2f} % cut off\n",
             100 * fill_rate(c, options.max_seq_length), percent(c.unknown_tokens, c.tokens),
             percent(c.lost_tokens, c.tokens));
  fmt::print("{:.1f} MB of text in {:.1f} s: {:.1f} MB/s on {} threads\n", megabytes, seconds,
             megabytes / std::max(seconds, 1e-9), num_threads());
}

Result<int> run_records_build(ElectraBuildOptions& options, const Fields& fields) {
  if (!options.blanks_separate_docs && fields.find("blanks_separate_docs")->origin != "default")
    log_info("blank lines do not end documents (google's script would take any text for true)");
  set_num_threads(static_cast<int>(options.num_processes.value_or(0)));
  const StopSignal stop;
  const auto start = std::chrono::steady_clock::now();
  const auto summary = build_electra_records(local_files(), options, StopSignal::requested);
  if (!summary && summary.error().code == Code::kCancelled) {
    log_warning("{}", summary.error().to_string());
    return 128 + StopSignal::number();
  }
  if (!summary) return tl::unexpected<Error>(summary.error());
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  for (const std::string& note : summary->notes) log_info("{}", note);
  for (const std::string& warning : summary->warnings) log_warning("{}", warning);
  print_summary(options, *summary, spent.count());
  return 0;
}

}  // namespace

Verb make_records_build_verb() {
  return make_verb<ElectraBuildOptions>(
      {.name = "records build",
       .summary = "make ELECTRA pre-training examples of a corpus",
       .description =
           "Reads text line by line, a sentence or paragraph a line, a blank line between "
           "documents; a record of .jsonl or .tsv is a document. Writes TFRecord shards named "
           "pretrain_data.tfrecord-<i>-of-<n> with the features input_ids, input_mask and "
           "segment_ids, and manifest.json with counts, options and digests.\n\n"
           "Options are those of google-research/electra's build_pretraining_dataset.py. Unless "
           "--do-lower-case or --no-lower-case is given, the vocabulary decides: text is "
           "lower-cased when no piece has an upper-case letter or a Hangul syllable. The "
           "result depends on corpus, vocabulary, options and seed, not on the number of threads. "
           "Shards get their names at the end: an interrupted build leaves none.",
       .examples = {{"headwater records build --corpus-dir corpus --vocab-file vocab.txt "
                     "--output-dir records --max-seq-length 128 --no-lower-case",
                     "Korean text, cased, on all cores"},
                    {"headwater records build --corpus-dir chat.jsonl --text-field utterance "
                     "--blanks-separate-docs false --vocab-file vocab.txt --output-dir records",
                     "short messages, packed across records"}}},
      run_records_build);
}

}  // namespace headwater
