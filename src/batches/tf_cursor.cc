#include "batches/tf_cursor.h"

#include <algorithm>

namespace headwater {

TfCursor::TfCursor(const RecordOrder& order, const TfOrderOptions& options, int64_t epochs,
                   int64_t position)
    : order_(&order), options_(options), position_(position), epochs_(epochs) {
  const RecordSet& set = order.set();
  first_blocks_.resize(set.shards().size() + 1);
  int64_t first = 0;
  for (const RecordBlock& block : set.blocks()) {
    first_records_.push_back(first);
    first += block.records;
    ++first_blocks_[static_cast<size_t>(block.shard) + 1];
  }
  for (size_t file = 1; file < first_blocks_.size(); ++file)
    first_blocks_[file] += first_blocks_[file - 1];
}

NumberSet TfCursor::file_records(int64_t file) const {
  const auto f = static_cast<size_t>(file);
  const int32_t first = first_blocks_[f], last = first_blocks_[f + 1];
  return [this, first, last]() -> Numbers {
    return [this, block = first, last, i = int32_t{0}]() mutable -> std::optional<int64_t> {
      for (; block < last; ++block, i = 0) {
        const auto b = static_cast<size_t>(block);
        while (i < order_->set().blocks()[b].records) {
          const int32_t at = i++;
          if (order_->selects(block, at)) return first_records_[b] + at;
        }
      }
      return std::nullopt;
    };
  };
}

NumberSet TfCursor::epoch_set() const {
  const TfSeeds seeds = tf_seeds(options_.global_seed, options_.seed);
  const auto count = static_cast<int64_t>(first_blocks_.size()) - 1;
  NumberSet files = tf_range(0, count);
  if (options_.shuffle_files) files = tf_shuffle(files, count, seeds, true);
  NumberSet records = tf_interleave(
      files, [this](int64_t file) { return file_records(file); }, options_.cycle_length,
      options_.block_length);
  if (options_.repeat_before_shuffle) records = tf_repeat(records, epochs_ > 0 ? epochs_ : -1);
  if (options_.shuffle_buffer == 0) return records;
  return tf_shuffle(records, options_.shuffle_buffer, seeds, options_.reshuffle_each_iteration);
}

// To the place where position_ is: iterations that are over were begun, which draws their seeds.
void TfCursor::replay(int64_t epochs) {
  epoch_set_ = epoch_set();
  for (int64_t epoch = 0; epoch <= epochs; ++epoch) numbers_ = epoch_set_();
  for (int64_t left = position_ - epochs * order_->records(); left > 0; --left) numbers_();
}

Result<RecordCursor::Record> TfCursor::next() {
  if (!started_) replay(options_.repeat_before_shuffle ? 0 : position_ / order_->records());
  started_ = true;
  auto number = numbers_();
  if (!number) {
    numbers_ = epoch_set_();
    number = numbers_();
  }
  HW_CHECK(number.has_value(), "an order without records");
  const auto after = std::upper_bound(first_records_.begin(), first_records_.end(), *number);
  const auto block = static_cast<int32_t>(after - first_records_.begin() - 1);
  const auto i = static_cast<int32_t>(*number - first_records_[static_cast<size_t>(block)]);
  HW_ASSIGN_OR_RETURN(const std::string_view payload,
                      order_->set().read_record(block, i, scratch_));
  ++position_;
  const RecordBlock& of = order_->set().blocks()[static_cast<size_t>(block)];
  return RecordCursor::Record{payload, {of.shard, of.first_record + i}};
}

}  // namespace headwater
