// `records build`: a corpus to shards of training examples.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>

#include "base/log.h"
#include "base/stop_signal.h"
#include "base/threads.h"
#include "cli/verb.h"
#include "records/build_report.h"
#include "records/records_build.h"

namespace headwater {
namespace {

double percent(int64_t part, int64_t whole) {
  return whole > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0.0;
}

void print_summary(const RecordsBuildOptions& options, const RecordsBuildSummary& summary,
                   double seconds) {
  const BuildCounts& c = summary.counts;
  const double megabytes = static_cast<double>(c.bytes) / 1e6;
  fmt::print("{} examples of {}{} tokens in {} shards: {}\n", c.examples,
             summary.task == RecordsTask::kElectra ? "" : "up to ", options.max_seq_length,
             summary.shards.size(),
             join_path(options.output_dir, fmt::format("{}-*", ShardSet::kStem)));
  fmt::print("{} files, {} documents, {} lines, {}{} tokens\n", c.files, c.documents, c.lines,
             c.sentences > 0 ? fmt::format("{} sentences, ", c.sentences) : "", c.tokens);
  if (c.pairs > 0)
    fmt::print("{:.1f} % of the pairs {}\n", percent(c.positive_pairs, c.pairs),
               options.bert.sentence_order ? "swapped" : "with a random next sentence");
  fmt::print("{:.1f} % full, {:.2f} % of the tokens [UNK], {:.2f} % cut off\n",
             100 * fill_rate(c, options.max_seq_length), percent(c.unknown_tokens, c.tokens),
             100 * lost_share(options, c));
  if (summary.excluded_texts > 0)
    fmt::print("{} lines left out: {} hold one of {} excluded texts, {} nearly one\n", c.excluded(),
               c.excluded_exact, summary.excluded_texts, c.excluded_near);
  fmt::print("{:.1f} MB of text in {:.1f} s: {:.1f} MB/s on {} threads\n", megabytes, seconds,
             megabytes / std::max(seconds, 1e-9), num_threads());
}

Result<int> run_records_build(RecordsBuildOptions& options, const Fields& fields) {
  if (!options.blanks_separate_docs && fields.find("blanks_separate_docs")->origin != "default")
    log_info("blank lines do not end documents (google's script would take any text for true)");
  set_num_threads(static_cast<int>(options.num_processes.value_or(0)));
  const StopSignal stop;
  const auto start = std::chrono::steady_clock::now();
  const auto summary = build_records(local_files(), options, StopSignal::requested, &fields);
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
  return make_verb<RecordsBuildOptions>(
      {.name = "records build",
       .summary = "make training examples of a corpus: ELECTRA, GPT, BERT, or one per line",
       .description =
           "Reads text, plain (a blank line between documents) or a record of .jsonl or .tsv per "
           "document, and writes TFRecord shards named pretrain_data.tfrecord-<i>-of-<n>, and "
           "manifest.json with counts, options and digests. The result depends on corpus, "
           "vocabulary, options and seed, not on the number of threads. Shards get their names at "
           "the end: an interrupted build leaves none.\n\n"
           "--task electra: a sentence or paragraph a line, to one or two segments; features "
           "input_ids, input_mask and segment_ids. Options are those of google-research/electra's "
           "build_pretraining_dataset.py.\n\n"
           "--task gpt: documents as they stand, each with an end-of-text token behind it, joined "
           "and cut to blocks; feature input_ids. The end of the text makes one shorter block, so "
           "that nothing is lost: --last-block drop leaves it away.\n\n"
           "--task bert: a sentence a line, to pairs of segments as google-research/bert's "
           "create_pretraining_data.py makes them; features input_ids, input_mask, segment_ids "
           "and next_sentence_labels, with static masks also masked_lm_positions, masked_lm_ids "
           "and masked_lm_weights. A random next sentence comes from another document among those "
           "read at about the same time.\n\n"
           "--task raw: one example per line, or per record; features "
           "input_ids, cut at --max-seq-length, and label where --label names one.\n\n"
           "Unless --do-lower-case or --no-lower-case is given, the tokenizer's files or else the "
           "vocabulary decide: text is lower-cased when no piece of a WordPiece vocabulary has an "
           "upper-case letter or a Hangul syllable.",
       .examples = {{"headwater records build --corpus-dir corpus --vocab-file vocab.txt "
                     "--output-dir records --max-seq-length 128 --no-lower-case",
                     "Korean text, cased, on all cores"},
                    {"headwater records build --corpus-dir chat.jsonl --text-field utterance "
                     "--blanks-separate-docs false --vocab-file vocab.txt --output-dir records",
                     "short messages, packed across records"},
                    {"headwater records build --task gpt --corpus-dir texts --tokenizer gpt2 "
                     "--output-dir blocks --max-seq-length 1024",
                     "blocks for GPT-2, its tokenizer from a folder"},
                    {"headwater records build --task bert --corpus-dir corpus --vocab-file "
                     "vocab.txt --output-dir pairs --masking static --whole-word-masking",
                     "BERT's pairs with masks, ten copies of the text"},
                    {"headwater records build --task raw --corpus-dir reviews.tsv --tsv-column "
                     "document --label label --vocab-file vocab.txt --output-dir reviews",
                     "one example per row, with its class"}}},
      run_records_build);
}

}  // namespace headwater
