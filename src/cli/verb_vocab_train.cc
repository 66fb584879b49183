// `vocab train`: a WordPiece or byte-level BPE vocabulary from a folder of text.
#include <algorithm>

#include "base/log.h"
#include "base/progress.h"
#include "base/threads.h"
#include "cli/verb.h"
#include "io/file.h"
#include "text/corpus.h"
#include "tokens/bpe_trainer.h"
#include "tokens/tokenizer.h"
#include "tokens/vocab_trainer.h"
#include "tokens/word_counts.h"

namespace headwater {
namespace {

constexpr size_t kBatchBytes = size_t{16} << 20;  // of lines counted at a time

struct VocabTrainOptions {
  std::vector<std::string> corpus_dir;
  std::string model = "wordpiece";
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
    f("model", model,
      "what the vocabulary is for: WordPiece (BERT, ELECTRA) or byte-level BPE (GPT-2)")
        .one_of({"wordpiece", "bpe"});
    f("output", output,
      "where to write the vocabulary: a file of one token per line, or, for bpe, a folder that "
      "gets "
      "vocab.json and merges.txt")
        .required()
        .value_name("PATH");
    f("overwrite", overwrite, "replace an existing vocabulary");
    f("threads", threads, "threads to use; all cores when not given").range(1, 1024);
    f.group("Vocabulary");
    f("vocab_size", trainer.vocab_size, "tokens, special and unused ones included")
        .range(1, static_cast<double>(Vocabulary::kMaxTokens));
    f("limit_alphabet", trainer.limit_alphabet,
      "WordPiece: most frequent characters to keep; auto: 6,000, or what leaves half of the "
      "vocabulary to "
      "longer pieces")
        .positive();
    f("min_frequency", trainer.min_frequency, "how often a pair must occur to become a piece")
        .positive();
    f("num_unused", trainer.num_unused,
      "WordPiece: [unused0], [unused1], ... to append as spare slots")
        .non_negative();
    f("special_token", special_token,
      "one more special token, after [PAD], [UNK], [CLS], [SEP] and [MASK], or <|endoftext|>")
        .value_name("TEXT");
    f.group("Text");
    tokenizer.describe_normalizer(f);
    corpus.describe(f);
  }
};

bool is_bpe(const VocabTrainOptions& options) { return options.model == "bpe"; }

Result<WordCountOptions> count_options(const VocabTrainOptions& options) {
  WordCountOptions count;
  HW_ASSIGN_OR_RETURN(count.normalizer, options.tokenizer.normalizer_options());
  HW_ASSIGN_OR_RETURN(count.form, options.tokenizer.normal_form());
  count.max_jamo_run = options.tokenizer.max_jamo_run;
  count.byte_level = is_bpe(options);
  return count;
}

// Options that mean nothing to byte-level BPE.
Result<> check_bpe(const VocabTrainOptions& options) {
  const char* wrong = nullptr;
  if (options.tokenizer.do_lower_case) wrong = "--do-lower-case";
  if (options.tokenizer.strip_accents.value_or(false)) wrong = "--strip-accents";
  if (options.trainer.limit_alphabet) wrong = "--limit-alphabet";
  if (options.trainer.num_unused > 0) wrong = "--num-unused";
  if (wrong == nullptr) return {};
  return fail_hint(Code::kInvalidArgument, "leave it away", "{} is an option of WordPiece", wrong);
}

// What must not be there yet.
std::vector<std::string> files_of(const VocabTrainOptions& options) {
  if (!is_bpe(options)) return {options.output};
  return {join_path(options.output, "vocab.json"), join_path(options.output, "merges.txt")};
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

void report_size(const VocabTrainOptions& options, int64_t tokens, int64_t last_frequency) {
  if (tokens < options.trainer.vocab_size) {
    log_warning("the corpus gave {} of {} tokens: no further pair occurs {} times", tokens,
                options.trainer.vocab_size, options.trainer.min_frequency);
  } else {
    log_info("the rarest joined pair occurs {} times", last_frequency);
  }
}

Result<> train_word_pieces(const VocabTrainOptions& options, const WordCounts& counts) {
  VocabTrainerOptions trainer = options.trainer;
  for (const std::string& token : options.special_token) trainer.special_tokens.push_back(token);
  Progress progress("joining pieces", trainer.vocab_size, "tokens");
  HW_ASSIGN_OR_RETURN(
      const TrainedVocabulary trained,
      train_vocabulary(counts.sorted(), trainer, [&](int64_t tokens) { progress.update(tokens); }));
  progress.finish();
  std::string content;
  for (const std::string& token : trained.tokens) content += token + "\n";
  HW_RETURN_IF_ERROR(write_file_atomic(local_files(), options.output, content));
  log_info("{}: {} tokens from {} words ({} distinct); {} of {} characters, {:.3f} % of the text",
           options.output, trained.tokens.size(), counts.total(), counts.distinct(),
           trained.alphabet, trained.all_characters, 100 * trained.coverage);
  report_size(options, static_cast<int64_t>(trained.tokens.size()), trained.last_frequency);
  return {};
}

Result<> train_byte_pairs(const VocabTrainOptions& options, const WordCounts& counts) {
  BpeTrainerOptions trainer;
  trainer.vocab_size = options.trainer.vocab_size;
  trainer.min_frequency = options.trainer.min_frequency;
  for (const std::string& token : options.special_token) trainer.special_tokens.push_back(token);
  Progress progress("merging tokens", trainer.vocab_size, "tokens");
  HW_ASSIGN_OR_RETURN(
      const TrainedBpe trained,
      train_bpe(counts.sorted(), trainer, [&](int64_t tokens) { progress.update(tokens); }));
  progress.finish();
  const std::vector<std::string> files = files_of(options);
  HW_ASSIGN_OR_RETURN(const BpeModel model,
                      BpeModel::from_parts(trained.parts, files[0], files[1]));
  FileSystem& fs = local_files();
  HW_RETURN_IF_ERROR(fs.make_directories(options.output));
  HW_RETURN_IF_ERROR(write_file_atomic(fs, files[0], vocab_json(model)));
  HW_RETURN_IF_ERROR(write_file_atomic(fs, files[1], merges_txt(model)));
  log_info("{}: {} tokens and {} merges from {} words ({} distinct)", options.output, model.size(),
           model.merges().size(), counts.total(), counts.distinct());
  report_size(options, model.size(), trained.last_frequency);
  return {};
}

Result<int> run_vocab_train(VocabTrainOptions& options) {
  set_num_threads(static_cast<int>(options.threads.value_or(0)));
  if (is_bpe(options)) HW_RETURN_IF_ERROR(check_bpe(options));
  for (const std::string& file : files_of(options)) {
    if (!options.overwrite && local_files().exists(file)) {
      return fail_hint(Code::kAlreadyExists, "use --overwrite or another name", "{} exists", file);
    }
  }
  HW_ASSIGN_OR_RETURN(const WordCountOptions word_options, count_options(options));
  WordCounts counts(word_options);
  HW_RETURN_IF_ERROR(count_corpus(options, counts));
  if (counts.forgotten() > 0) {
    log_warning("more than {} distinct words: {} rare ones were not counted",
                word_options.max_distinct, counts.forgotten());
  }
  HW_RETURN_IF_ERROR(is_bpe(options) ? train_byte_pairs(options, counts)
                                     : train_word_pieces(options, counts));
  return 0;
}

}  // namespace

Verb make_vocab_train_verb() {
  return make_verb<VocabTrainOptions>(
      {.name = "vocab train",
       .summary = "make a WordPiece or byte-level BPE vocabulary from text",
       .description =
           "Counts the words of the corpus, starts from its characters and joins the most frequent "
           "pair of neighbouring pieces until the vocabulary is full; of pairs that are equally "
           "frequent the one of the older pieces, the left one first. The same text and options "
           "give the same file, on any number of threads.\n"
           "\n"
           "--model bpe starts from the 256 bytes and GPT-2's words of every line with its end, "
           "and "
           "gives the merges that Hugging Face's BpeTrainer gives. <|endoftext|> has the last id, "
           "as in GPT-2.\n"
           "\n"
           "Give `tokenize`, `records build` and training the same choice of lower-casing. Korean "
           "vocabularies are made with the case kept.",
       .examples = {{"headwater vocab train --corpus-dir corpus --output vocab.txt --vocab-size "
                     "32000 --num-unused 200",
                     "as the first KoELECTRA vocabulary was made"},
                    {"headwater vocab train --model bpe --corpus-dir corpus --output bpe "
                     "--vocab-size 50257",
                     "bpe/vocab.json and bpe/merges.txt, of GPT-2's size"}}},
      run_vocab_train);
}

}  // namespace headwater
