// Walks through the records of an order, from any position on, endlessly over epochs.
//
// Holds one window in memory and reads the next one bit by bit while this one is used, so that no
// step waits for a whole window.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "batches/record_order.h"

namespace headwater {

class RecordCursor {
 public:
  struct Record {
    std::string_view payload;  // valid until the next call
    RecordPlace place;
  };

  // `order` must outlive the cursor. `position` counts over all epochs.
  RecordCursor(const RecordOrder& order, int64_t position);

  Result<Record> next();
  int64_t position() const { return position_; }  // of the record that next() returns
  int64_t buffered_bytes() const {
    return static_cast<int64_t>(window_.bytes.capacity() + following_.bytes.capacity());
  }

 private:
  struct Item {
    size_t begin, size;  // in Window::bytes
    RecordPlace place;
  };
  struct Window {
    int64_t epoch = 0, number = 0;
    int64_t next_block = 0, last_block = 0;  // in the epoch's plan
    std::string bytes;                       // payloads back to back
    std::vector<Item> items;                 // in reading order
    std::vector<int32_t> permutation;
  };
  void start(Window& window, int64_t epoch, int64_t number);
  void start_following();
  Result<> load_block(Window& window);
  Result<> load_all(Window& window);
  const EpochPlan& plan(int64_t epoch);

  const RecordOrder* order_;
  int64_t position_;
  int64_t plan_epoch_ = -1;
  EpochPlan plan_;  // of plan_epoch_
  bool started_ = false;
  Window window_, following_;
  size_t used_ = 0;  // items of window_ that were returned
};

}  // namespace headwater
