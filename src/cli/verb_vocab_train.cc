// `vocab train`: a WordPiece vocabulary from a folder of text.
#include <algorithm>

#include "base/log.h"
#include "base/progress.h"
#include "base/threads.h"
#include "cli/verb.h"
#include "io/file.h"
#include "text/corpus.h"
#include "tokens/tokenizer.h"
#include "tokens/vocab_trainer.h"
#include "tokens/word_counts.h"

namespace headwater {
namespace {

constexpr size_t kBatchBytes = size_t{16} << 20;  // of lines counted at a time

struct VocabTrainOptions {
  std::vector<std::string> corpus_dir;
  std::string output;
  CorpusOptions corpus;
  VocabTrainerOptions trainer;
  std::vector<std::string> special_token;
  TokenizerOptions tokenizer;
  bool overwrite = false;
  std::optional<int64_t> threads;

  void describe(Fields& f) {
    f("corpus_dir", corpus_dir,
      "folder of text files, or one file; all that are given are counted together")
        .required()
        .value_name("DIR");
    f("output", output, "where to write the vocabulary, one token per line")
        .required()
        .value_name("FILE");
    f("overwrite", overwrite, "replace an existing vocabulary");
    f("threads", threads, "threads to use; all cores when not given").range(1, 1024);
    f.group("Vocabulary");
    f("vocab_size", trainer.vocab_size, "tokens, special and unused ones included")
        .range(1, static_cast<double>(Vocabulary::kMaxTokens));
    f("limit_alphabet", trainer.limit_alphabet,
      "most frequent characters to keep; auto: 6,000, or what leaves half of the vocabulary to "
      "longer pieces")
        .positive();
    f("min_frequency", trainer.min_frequency, "how often a pair must occur to become a piece")
        .positive();
    f("num_unused", trainer.num_unused, "[unused0], [unused1], ... to append as spare slots")
        .non_negative();
    f("special_token", special_token,
      "one more special token, after [PAD], [UNK], [CLS], [SEP] and [MASK]")
        .value_name("TEXT");
    f.group("Text");
    tokenizer.describe_normalizer(f);
    corpus.describe(f);
  }
};

Result<WordCountOptions> count_options(const TokenizerOptions& tokenizer) {
  WordCountOptions options;
  HW_ASSIGN_OR_RETURN(options.normalizer, tokenizer.normalizer_options());
  HW_ASSIGN_OR_RETURN(options.form, tokenizer.normal_form());
  options.max_jamo_run = tokenizer.max_jamo_run;
  return options;
}

Result<> count_corpus(const VocabTrainOptions& options, WordCounts& counts) {
  FileSystem& fs = local_files();
  std::vector<CorpusFile> files;
  for (const std::string& place : options.corpus_dir) {
    HW_ASSIGN_OR_RETURN(const std::vector<CorpusFile> found, list_corpus(fs, place));
    files.insert(files.end(), found.begin(), found.end());
  }
  int64_t total = 0, done = 0;
  for (const CorpusFile& file : files) total += file.size;
  Progress progress("counting words", total, "B");
  std::vector<std::string> lines;
  size_t bytes = 0;
  const auto count = [&](int64_t read) {
    counts.add_lines(lines);
    lines.clear();
    bytes = 0;
    progress.update(read, fmt::format("{} distinct words", counts.distinct()));
  };
  for (const CorpusFile& file : files) {
    HW_ASSIGN_OR_RETURN(LineReader reader, LineReader::open(fs, file.path, options.corpus));
    while (true) {
      std::string_view line;
      HW_ASSIGN_OR_RETURN(const bool more, reader.next(line));
      if (!more) break;
      if (line.empty()) continue;
      lines.emplace_back(line);
      bytes += line.size();
      // What a packed file unpacks to says little about how much of it is left.
      if (bytes >= kBatchBytes) count(done + std::min(reader.bytes_read(), file.size));
    }
    if (reader.replaced_lines() > 0) {
      log_warning("{}: replaced what is not UTF-8 in {} lines, first in {}", file.path,
                  reader.replaced_lines(), reader.first_replaced());
    }
    done += file.size;
  }
  count(done);
  progress.finish();
  if (counts.distinct() == 0) {
    return fail_hint(Code::kInvalidArgument, "name a folder of text files", "{} holds no words",
                     fmt::join(options.corpus_dir, ", "));
  }
  return {};
}

Result<int> run_vocab_train(VocabTrainOptions& options) {
  set_num_threads(static_cast<int>(options.threads.value_or(0)));
  FileSystem& fs = local_files();
  if (!options.overwrite && fs.exists(options.output)) {
    return fail_hint(Code::kAlreadyExists, "use --overwrite or another name", "{} exists",
                     options.output);
  }
  HW_ASSIGN_OR_RETURN(const WordCountOptions word_options, count_options(options.tokenizer));
  WordCounts counts(word_options);
  HW_RETURN_IF_ERROR(count_corpus(options, counts));
  if (counts.forgotten() > 0) {
    log_warning("more than {} distinct words: {} rare ones were not counted",
                word_options.max_distinct, counts.forgotten());
  }
  VocabTrainerOptions trainer = options.trainer;
  for (const std::string& token : options.special_token) trainer.special_tokens.push_back(token);
  Progress progress("joining pieces", trainer.vocab_size, "tokens");
  HW_ASSIGN_OR_RETURN(
      const TrainedVocabulary trained,
      train_vocabulary(counts.sorted(), trainer, [&](int64_t tokens) { progress.update(tokens); }));
  progress.finish();
  std::string content;
  for (const std::string& token : trained.tokens) content += token + "\n";
  HW_RETURN_IF_ERROR(write_file_atomic(fs, options.output, content));
  log_info("{}: {} tokens from {} words ({} distinct); {} of {} characters, {:.3f} % of the text",
           options.output, trained.tokens.size(), counts.total(), counts.distinct(),
           trained.alphabet, trained.all_characters, 100 * trained.coverage);
  if (static_cast<int64_t>(trained.tokens.size()) < trainer.vocab_size) {
    log_warning("the corpus gave {} of {} tokens: no further pair occurs {} times",
                trained.tokens.size(), trainer.vocab_size, trainer.min_frequency);
  } else {
    log_info("the rarest joined pair occurs {} times", trained.last_frequency);
  }
  return 0;
}

}  // namespace

Verb make_vocab_train_verb() {
  return make_verb<VocabTrainOptions>(
      {.name = "vocab train",
       .summary = "make a WordPiece vocabulary from text",
       .description =
           "Counts the words of the corpus, starts from its characters and joins the most frequent "
           "pair of neighbouring pieces until the vocabulary is full. The same text and options "
           "give the same file, on any number of threads.\n"
           "\n"
           "Give `tokenize`, `records build` and training the same choice of lower-casing. Korean "
           "vocabularies are made with the case kept.",
       .examples = {{"headwater vocab train --corpus-dir corpus --output vocab.txt --vocab-size "
                     "32000 --num-unused 200",
                     "as the first KoELECTRA vocabulary was made"}}},
      run_vocab_train);
}

}  // namespace headwater
