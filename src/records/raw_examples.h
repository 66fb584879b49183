// `--task raw`: one example per line of text, or per record of .jsonl and .tsv, cut to fit.
//
// Records hold input_ids, as long as the text is, and, where the corpus has one, a label.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/described.h"
#include "records/example_output.h"
#include "tokens/any_tokenizer.h"

namespace headwater {

struct RawOptions {
  bool add_special_tokens = true;
  std::optional<std::string> label;  // field or column

  void describe(Fields& f);
};

class RawExamples {
 public:
  // `specials`: [CLS] in front and [SEP] behind; none for tokenizers that put nothing around a
  // text.
  RawExamples(int64_t max_seq_length, std::optional<SpecialIds> specials)
      : max_seq_length_(static_cast<size_t>(max_seq_length)), specials_(specials) {}

  void start_file(int64_t) {}
  void add_text(std::span<const int32_t> ids, ExampleOutput& out);
  void end_document(ExampleOutput& out);
  // Of the document that ends next.
  void set_label(int32_t label) { label_ = label; }

 private:
  size_t max_seq_length_;
  std::optional<SpecialIds> specials_;
  std::vector<int32_t> ids_;
  std::optional<int32_t> label_;
  int64_t cut_ = 0;  // tokens of the text that had no room
};

}  // namespace headwater
