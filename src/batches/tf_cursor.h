// Walks through the records of a set in the order of tf.data: files interleaved, records shuffled,
// epochs repeated (tf_data.h).
//
// Only numbers of records are shuffled; a record is read when its turn comes. Resuming replays the
// numbers from the start of an epoch (of the run, if shuffling comes behind repeating), not the
// data. Memory: 8 bytes for each record of the shuffle buffer, however large the records are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "batches/record_cursor.h"
#include "batches/record_order.h"
#include "batches/tf_data.h"

namespace headwater {

struct TfOrderOptions {
  int64_t cycle_length = 1, block_length = 1;  // of interleave over files; 1, 1: one by one
  bool shuffle_files = false;                  // list_files(shuffle=True), with the same seeds
  int64_t shuffle_buffer = 0;                  // records; 0: no shuffling
  std::optional<int64_t> seed;                 // the operation's; or
  std::optional<int64_t> global_seed;          // tf.random.set_seed
  bool reshuffle_each_iteration = true;
  bool repeat_before_shuffle = false;  // repeat().shuffle(): epochs mix
};

class TfCursor {
 public:
  // `order` says which records there are, not how they are ordered; its set has keep_sizes.
  // `epochs` 0: without end. `order` must outlive the cursor.
  TfCursor(const RecordOrder& order, const TfOrderOptions& options, int64_t epochs,
           int64_t position);

  // Endless: the caller counts epochs. From the first call on the cursor must stay where it is.
  Result<RecordCursor::Record> next();
  int64_t position() const { return position_; }  // of the record that next() returns

 private:
  // A record's number: its block's first one, and its place in the block.
  NumberSet file_records(int64_t file) const;
  NumberSet epoch_set() const;
  void replay(int64_t epochs);

  const RecordOrder* order_;
  TfOrderOptions options_;
  std::vector<int64_t> first_records_;  // of each block
  std::vector<int32_t> first_blocks_;   // of each file, and one more
  NumberSet epoch_set_;
  Numbers numbers_;
  int64_t position_;
  bool started_ = false;
  int64_t epochs_;
  RecordSet::Scratch scratch_;
};

}  // namespace headwater
