// Text to WordPiece tokens: BERT's basic normaliser and greedy longest-match-first sub-words, token
// for token as the ELECTRA authors' FullTokenizer or as Hugging Face's BertTokenizerFast.
//
// A Tokenizer is immutable and may be used from any number of threads. Texts are valid UTF-8: the
// caller checks once, where bytes enter (text/utf8.h).
//
// Not here: [CLS], [SEP], pairs, truncation and padding (encoder.h), [UNK] statistics
// (unknown_report.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/described.h"
#include "base/error.h"
#include "text/basic_normalizer.h"
#include "text/normal_form.h"
#include "tokens/vocabulary.h"

namespace headwater {

struct TokenizerOptions {
  bool do_lower_case = false;
  // Unset: as do_lower_case. True without lower-casing strips too (a Hugging Face setting).
  std::optional<bool> strip_accents;
  // "electra": 200 characters a word, unassigned code points are dropped (also BERT's own code).
  // "hf": 100 characters, unassigned code points stay; BertTokenizerFast exactly.
  std::string compatibility = "electra";
  int64_t max_word_chars = 0;      // longer words become [UNK]; 0: by compatibility
  std::string normalize = "none";  // none, nfc, or nfkc (which keeps compatibility jamo)
  bool parse_specials = false;     // "[MASK]" in the text becomes the special token
  bool isolate_emoji = false;      // an emoji sequence is a word and one token of its own
  int64_t max_jamo_run = 0;        // longer runs of one compatibility jamo are cut; 0: never
  bool add_prefix_space = false;   // byte-level BPE: a blank before a text that has none

  void describe(Fields& f);      // what WordPiece has
  void describe_all(Fields& f);  // with what only byte-level BPE has
  // Only what also makes sense without a vocabulary: case, accents, normal form, jamo.
  void describe_normalizer(Fields& f);

  Result<NormalizerOptions> normalizer_options() const;
  Result<NormalForm> normal_form() const;
};

struct Token {
  int32_t id = 0;
  size_t begin = 0, end = 0;  // bytes of the text
  friend bool operator==(const Token&, const Token&) = default;
};

class Tokenizer {
 public:
  static constexpr int64_t kMaxWordChars = 4096;

  // Fails when the vocabulary lacks [UNK] or an option is out of range.
  static Result<Tokenizer> create(Vocabulary vocabulary, TokenizerOptions options);

  // Appends the ids of `text`.
  void append_ids(std::string_view text, std::vector<int32_t>& ids) const;
  // The same ids with the bytes each token stands for; several times slower.
  std::vector<Token> tokenize(std::string_view text) const;

  const Vocabulary& vocabulary() const;
  // As resolved: strip_accents and max_word_chars hold what is used.
  const TokenizerOptions& options() const;
  int32_t unk_id() const;

 private:
  struct Tables;
  explicit Tokenizer(std::shared_ptr<const Tables> tables) : tables_(std::move(tables)) {}
  std::shared_ptr<const Tables> tables_;
};

}  // namespace headwater
