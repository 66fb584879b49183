// `tokenize`: lines of text to ids, tokens or JSON, with a warning when the vocabulary does not fit
// the text; and lines of ids back to text.
#include "base/log.h"
#include "base/threads.h"
#include "cli/verb.h"
#include "io/file.h"
#include "io/standard_streams.h"
#include "tokens/any_tokenizer.h"
#include "tokens/decode_stream.h"
#include "tokens/token_stream.h"
#include "tokens/tokenizer_files.h"

namespace headwater {
namespace {

struct TokenizeOptions {
  std::string vocab_file;
  std::optional<std::string> file;
  TokenizerOptions tokenizer;
  std::string format = "ids";
  bool decode = false, add_special_tokens = false;
  std::string invalid_utf8 = "error";
  std::optional<int64_t> threads;

  void describe(Fields& f) {
    f("file", file,
      "text to tokenise, a line at a time; .gz, .zst and .xz are unpacked; without "
      "it, standard input")
        .positional()
        .value_name("FILE");
    f("vocab_file", vocab_file,
      "WordPiece vocabulary, vocab.json of byte-level BPE with merges.txt beside it, "
      "tokenizer.json, or a folder that holds one of these")
        .alias("tokenizer")
        .required()
        .value_name("FILE");
    f("decode", decode, "the other way: lines of ids, separated by blanks, to text");
    f("format", format,
      "ids or tokens separated by blanks, or a JSON object with ids, tokens and byte offsets")
        .one_of({"ids", "tokens", "jsonl"});
    f("add_special_tokens", add_special_tokens,
      "WordPiece: put [CLS] in front of every line and [SEP] behind");
    f("invalid_utf8", invalid_utf8, "text that is not UTF-8: stop, or replace it by U+FFFD")
        .one_of({"error", "replace"});
    f("threads", threads, "threads to use; all cores when not given").range(1, 1024);
    f.group("Tokenizer");
    tokenizer.describe_all(f);
  }
};

TokenFormat format_of(const std::string& name) {
  if (name == "tokens") return TokenFormat::kTokens;
  return name == "jsonl" ? TokenFormat::kJson : TokenFormat::kIds;
}

void report(const AnyTokenizer& tokenizer, const TokenStreamCounts& counts) {
  if (counts.replaced_lines > 0) {
    log_warning("replaced what is not UTF-8 by U+FFFD in {} lines, first in {}",
                counts.replaced_lines, counts.first_replaced);
  }
  for (const std::string& warning : counts.report.warnings(tokenizer)) log_line_warning(warning);
  if (tokenizer.options().isolate_emoji)
    log_info("isolating emoji saved {} [UNK]", counts.saved_by_emoji);
}

Result<int> run_tokenize(TokenizeOptions& options, const Fields& fields) {
  set_num_threads(static_cast<int>(options.threads.value_or(0)));
  FileSystem& fs = local_files();
  HW_ASSIGN_OR_RETURN(const TokenizerFiles files, read_tokenizer_files(fs, options.vocab_file));
  HW_ASSIGN_OR_RETURN(const TokenizerOptions rules, options_for(files, options.tokenizer, &fields));
  HW_ASSIGN_OR_RETURN(const AnyTokenizer tokenizer, AnyTokenizer::create(files, rules));
  std::unique_ptr<ByteSource> source = standard_input();
  if (options.file) {
    HW_ASSIGN_OR_RETURN(source, open_decompressed(fs, *options.file));
  }
  const std::string name = options.file.value_or("standard input");
  const std::unique_ptr<ByteSink> sink = standard_output();
  if (options.decode) {
    HW_RETURN_IF_ERROR(decode_stream(*source, *sink, tokenizer,
                                     {.json = options.format == "jsonl", .name = name}));
    return 0;
  }
  TokenStreamOptions stream;
  stream.format = format_of(options.format);
  stream.add_special_tokens = options.add_special_tokens;
  stream.replace_invalid = options.invalid_utf8 == "replace";
  stream.name = name;
  HW_ASSIGN_OR_RETURN(const TokenStreamCounts counts,
                      tokenize_stream(*source, *sink, tokenizer, stream));
  report(tokenizer, counts);
  return 0;
}

}  // namespace

Verb make_tokenize_verb() {
  return make_verb<TokenizeOptions>(
      {.name = "tokenize",
       .summary = "turn lines of text into token ids, and back",
       .description =
           "One line in, one line out, in order. The vocabulary says whether the tokenizer is "
           "WordPiece (BERT, ELECTRA) or byte-level BPE (GPT-2), and a tokenizer.json or "
           "tokenizer_config.json which options it was made with; flags outrank them.\n"
           "\n"
           "WordPiece: without other options the result is that of the ELECTRA authors' tokenizer "
           "on cased text; --do-lower-case lower-cases and strips accents; --compatibility hf "
           "gives exactly what Hugging Face's BertTokenizerFast gives.\n"
           "\n"
           "Byte-level BPE: exactly what Hugging Face's GPT2TokenizerFast gives, and --decode "
           "gives back every byte. <|endoftext|> in a text is plain text unless "
           "--parse-specials is given.\n"
           "\n"
           "Korean text: use no lower-casing unless the vocabulary was made with it. Lower-casing "
           "strips accents too, and that takes Hangul syllables apart into jamo. When more than 2 "
           "% "
           "of the tokens are [UNK], a warning on standard error says so and names the likely "
           "cause.",
       .examples =
           {{"headwater tokenize --vocab-file vocab.txt reviews.txt > reviews.ids",
             "the ids of every line"},
            {"echo '안녕하세요' | headwater tokenize --vocab-file vocab.txt --format tokens",
             "what the pieces are"},
            {"headwater tokenize --tokenizer gpt2 --format jsonl reviews.txt",
             "GPT-2's, from a folder with tokenizer.json, or vocab.json and merges.txt"},
            {"headwater tokenize --tokenizer gpt2 --decode reviews.ids", "ids back to text"}}},
      run_tokenize);
}

}  // namespace headwater
