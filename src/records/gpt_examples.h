// `--task gpt`: the tokens of documents, each with end-of-text behind it, to blocks of one length.
//
// By default all documents of a build are one long text that is cut wherever a block is full, as
// GPT-2 was trained; the text that is left at the end makes one short block. Or every document is
// an example of its own, and only long ones are cut: what batches of packed documents are made of
// (batches/packing). Records hold input_ids and nothing else: no block has padding.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/described.h"
#include "records/example_output.h"
#include "tokens/any_tokenizer.h"

namespace headwater {

struct GptOptions {
  std::optional<std::string> end_of_text;  // unset: <|endoftext|>, of WordPiece [SEP]
  bool one_document_per_example = false;
  std::string last_block = "keep";  // or "drop"

  void describe(Fields& f);
  // The id of the token that ends a document.
  Result<int32_t> end_of_text_id(const AnyTokenizer& tokenizer) const;
};

class GptExamples {
 public:
  GptExamples(const GptOptions& options, int64_t block_length, int32_t end_of_text);

  void start_file(int64_t) {}
  void add_text(std::span<const int32_t> ids, ExampleOutput& out);
  void end_document(ExampleOutput& out);
  // At the end of the corpus: what is left of the text goes on behind what `next` has left; or
  // becomes the last block.
  void hand_over(GptExamples& next, ExampleOutput& out);
  void finish(ExampleOutput& out);

 private:
  void cut_blocks(ExampleOutput& out);
  void add_block(std::span<const int32_t> ids, ExampleOutput& out);
  int64_t count_text(std::span<const int32_t> ids) const;

  size_t block_length_;
  int32_t end_of_text_;
  bool one_document_, keeps_last_;
  std::vector<int32_t> rest_;  // shorter than a block
};

}  // namespace headwater
