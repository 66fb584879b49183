#include "batches/record_cursor.h"

#include <algorithm>

#include "base/checked.h"

namespace headwater {

RecordCursor::RecordCursor(const RecordOrder& order, int64_t position)
    : order_(&order), position_(position) {}

// Plans are cheap next to reading; one is kept. The following window may belong to the next epoch,
// whose plan then replaces this one's, which is not needed any more: all blocks of the present
// window are in memory before the following one starts.
const EpochPlan& RecordCursor::plan(int64_t epoch) {
  if (plan_epoch_ != epoch) plan_ = order_->plan(epoch), plan_epoch_ = epoch;
  return plan_;
}

void RecordCursor::start(Window& window, int64_t epoch, int64_t number) {
  const EpochPlan& of = plan(epoch);
  window.epoch = epoch;
  window.number = number;
  window.next_block = of.window_blocks[static_cast<size_t>(number)];
  window.last_block = of.window_blocks[static_cast<size_t>(number) + 1];
  window.bytes.clear(), window.items.clear();
  const auto n = static_cast<size_t>(number);
  window.permutation = order_->permutation(
      epoch, number, static_cast<int32_t>(of.window_positions[n + 1] - of.window_positions[n]));
}

void RecordCursor::start_following() {
  const bool last = window_.number + 1 == plan(window_.epoch).windows();
  if (last) start(following_, window_.epoch + 1, 0);
  else start(following_, window_.epoch, window_.number + 1);
}

Result<> RecordCursor::load_block(Window& window) {
  const int32_t number = plan(window.epoch).blocks[static_cast<size_t>(window.next_block++)];
  const RecordBlock& block = order_->set().blocks()[static_cast<size_t>(number)];
  return order_->set().read_block(block, [&](int32_t i, std::string_view payload) -> Result<> {
    if (!order_->selects(number, i)) return {};
    window.items.push_back(
        {window.bytes.size(), payload.size(), {block.shard, block.first_record + i}});
    window.bytes += payload;
    return {};
  });
}

Result<> RecordCursor::load_all(Window& window) {
  while (window.next_block < window.last_block) HW_RETURN_IF_ERROR(load_block(window));
  return {};
}

Result<RecordCursor::Record> RecordCursor::next() {
  if (!started_) {
    const int64_t epoch = position_ / order_->records(), within = position_ % order_->records();
    const auto& starts = plan(epoch).window_positions;
    const auto after = std::upper_bound(starts.begin(), starts.end(), within);
    const int64_t number = after - starts.begin() - 1;
    used_ = static_cast<size_t>(within - starts[static_cast<size_t>(number)]);
    start(window_, epoch, number);
    HW_RETURN_IF_ERROR(load_all(window_));
    start_following();
    started_ = true;
  }
  if (used_ == window_.items.size()) {
    HW_RETURN_IF_ERROR(load_all(following_));
    std::swap(window_, following_);
    used_ = 0;
    start_following();
  }
  const auto& item = window_.items[static_cast<size_t>(window_.permutation[used_])];
  ++used_, ++position_;
  // As much of the following window as was used of this one.
  const int64_t blocks =
      following_.last_block -
      plan(following_.epoch).window_blocks[static_cast<size_t>(following_.number)];
  const int64_t wanted =
      ceil_div(blocks * static_cast<int64_t>(used_), static_cast<int64_t>(window_.items.size()));
  while (blocks - (following_.last_block - following_.next_block) < wanted)
    HW_RETURN_IF_ERROR(load_block(following_));
  return Record{std::string_view(window_.bytes).substr(item.begin, item.size), item.place};
}

}  // namespace headwater
