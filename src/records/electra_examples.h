// `--task electra`: the tokens of documents to ELECTRA's examples (electra_builder.h), always
// filled up, by google's feature names.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "records/electra_builder.h"
#include "records/example_output.h"
#include "tokens/vocabulary.h"

namespace headwater {

class ElectraExamples {
 public:
  // `key`: a file's draws are those of its place in the sorted list.
  ElectraExamples(int64_t max_seq_length, const SpecialIds& specials, Key key)
      : max_seq_length_(max_seq_length), specials_(specials), key_(key) {}

  void start_file(int64_t number);
  void add_text(std::span<const int32_t> ids, ExampleOutput& out);
  void end_document(ExampleOutput& out);

 private:
  void add_example(ExampleOutput& out);

  int64_t max_seq_length_;
  SpecialIds specials_;
  Key key_;
  std::optional<ElectraExampleBuilder> builder_;
  ElectraExample example_;
  SegmentLists lists_;
};

}  // namespace headwater
