// Some text of one corpus file, and then its tokens: what the threads of a build pass on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokens/any_tokenizer.h"
#include "tokens/unknown_report.h"

namespace headwater {

// How texts become tokens; shared by all blocks.
struct BlockTokenizer {
  AnyTokenizer tokenizer;
  // For a text whose beginning stands in another block: adds no blank in front. Empty where that
  // makes no difference.
  std::optional<AnyTokenizer> continuing = {};
  int64_t max_seq_length = 0;
  bool split_long_lines = false;          // texts that are longer than an example
  std::vector<bool> continues_word = {};  // by id; for splitting

  static Result<BlockTokenizer> create(AnyTokenizer tokenizer, int64_t max_seq_length,
                                       bool split_long_lines);
};

class TextBlock {
 public:
  static constexpr size_t kBytes = size_t{256} << 10;
  static constexpr int32_t kDocumentEnd = -1;

  // `continues`: the block's first text goes on with a document of the block before.
  void start(int64_t file_number, bool continues);
  void add_text(std::string_view text);  // not empty
  // The same for a document's text that comes line by line: it ends with the document or the block.
  void add_line(std::string_view line, bool first_of_document);
  void end_document(std::optional<int32_t> label = {});
  bool full() const { return text_.size() >= kBytes || ends_.size() >= kBytes / 8; }
  // So much that the next line must go elsewhere, even where it cannot do so without a trace.
  bool overfull() const { return text_.size() >= 16 * kBytes; }
  // Blocks may be tokenised at the same time.
  void tokenize(const BlockTokenizer& with);

  int64_t file_number() const { return file_number_; }
  std::string_view text() const { return text_; }
  const std::vector<int32_t>& ids() const { return ids_; }
  // Tokens of one text after the other, or kDocumentEnd.
  const std::vector<int32_t>& sizes() const { return sizes_; }
  // Of one document after the other, where documents have any.
  const std::vector<int32_t>& labels() const { return labels_; }
  const UnknownReport& unknown() const { return unknown_; }
  int64_t split_lines() const { return split_lines_; }

 private:
  void close_text();
  void tokenize_pieces(std::string_view line, const BlockTokenizer& with);

  int64_t file_number_ = 0;
  bool continues_ = false, text_open_ = false;
  std::string text_;
  std::vector<size_t> ends_;  // of each entry in text_; an empty entry ends a document
  std::vector<int32_t> ids_, sizes_, labels_;
  UnknownReport unknown_;
  int64_t split_lines_ = 0;
};

}  // namespace headwater
