// One tokenizer, whichever family it is of: WordPiece or byte-level BPE. The choice is made once
// per text, never per character.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"
#include "io/file.h"
#include "tokens/bpe_tokenizer.h"
#include "tokens/tokenizer.h"
#include "tokens/tokenizer_files.h"

namespace headwater {

class AnyTokenizer {
 public:
  AnyTokenizer(Tokenizer tokenizer) : tokenizer_(std::move(tokenizer)) {}
  AnyTokenizer(BpeTokenizer tokenizer) : tokenizer_(std::move(tokenizer)) {}

  static Result<AnyTokenizer> create(const TokenizerFiles& files, const TokenizerOptions& options);
  // Of a file or folder (tokenizer_files.h); options that are given outrank those that the files
  // ask for.
  static Result<AnyTokenizer> open(FileSystem& fs, const std::string& path,
                                   const TokenizerOptions& options = {});

  void append_ids(std::string_view text, std::vector<int32_t>& ids) const {
    if (const BpeTokenizer* bpe = byte_pairs()) return bpe->append_ids(text, ids);
    std::get<Tokenizer>(tokenizer_).append_ids(text, ids);
  }
  std::vector<Token> tokenize(std::string_view text) const {
    if (const BpeTokenizer* bpe = byte_pairs()) return bpe->tokenize(text);
    return std::get<Tokenizer>(tokenizer_).tokenize(text);
  }

  // Byte-level BPE: the bytes that were encoded. WordPiece: tokens with blanks between them,
  // continuations glued. Fails on an id that is none.
  Result<std::string> decode(std::span<const int32_t> ids) const;

  int64_t size() const;                 // ids are [0, size)
  std::string token(int64_t id) const;  // as the vocabulary's file writes it
  // Whether a token begins a word: for WordPiece one without ##, for byte-level BPE one with white
  // space in front, and in both a special one.
  bool starts_word(int64_t id) const;
  // <|endoftext|>, where the vocabulary has it; WordPiece has none.
  std::optional<int32_t> end_of_text() const;
  std::optional<int32_t> find(std::string_view token) const;  // as its text stands in the text
  // [PAD], [UNK], [CLS], [SEP], [MASK]; of byte-level BPE RoBERTa's <pad>, <unk>, <s>, </s>,
  // <mask>. When any is missing, an error that names file, size and all missing.
  Result<SpecialIds> special_ids() const;

  const std::string& name() const;    // path of the vocabulary
  const std::string& digest() const;  // SHA-256 of what decides on ids
  const TokenizerOptions& options() const;

  const Tokenizer* word_pieces() const { return std::get_if<Tokenizer>(&tokenizer_); }
  const BpeTokenizer* byte_pairs() const { return std::get_if<BpeTokenizer>(&tokenizer_); }

 private:
  std::variant<Tokenizer, BpeTokenizer> tokenizer_;
};

}  // namespace headwater
