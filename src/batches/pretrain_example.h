// A record of ELECTRA's builder as one row of a batch.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "records/example.h"

namespace headwater {

struct PretrainRow {
  std::span<int32_t> input_ids, input_mask, segment_ids;  // [T]
};

class PretrainExampleReader {
 public:
  // `pad`: records of fewer than `max_seq_length` tokens are filled up. `vocab_size` 0: not known.
  static Result<PretrainExampleReader> create(int64_t max_seq_length, bool pad, int64_t vocab_size,
                                              int32_t pad_id);

  // May be called from several threads. An error names the feature, what was found and what is
  // wanted; the caller adds file and record.
  Result<> read(std::string_view payload, const PretrainRow& row) const;
  // The same without a row to keep.
  Result<> check(std::string_view payload) const;

 private:
  PretrainExampleReader(ExampleParser parser, int64_t max_seq_length, int64_t vocab_size)
      : parser_(std::move(parser)), max_seq_length_(max_seq_length), vocab_size_(vocab_size) {}
  ExampleParser parser_;
  int64_t max_seq_length_, vocab_size_;
  bool pad_ = false;
  int32_t pad_id_ = 0;
};

}  // namespace headwater
