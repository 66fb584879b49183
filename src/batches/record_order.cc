#include "batches/record_order.h"

#include <algorithm>
#include <numeric>

namespace headwater {
namespace {

constexpr size_t kManyBlocks = 1000;  // from here on whole blocks are held out

void shuffle(std::vector<int32_t>& items, Key key) {
  for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[key.below(i, i)]);
}

Key held_out_key() { return Key::from_seed(0).fold_in("held-out records"); }

}  // namespace

Result<RecordOrder> RecordOrder::create(std::shared_ptr<const RecordSet> set,
                                        const RecordOrderOptions& options) {
  RecordOrder order(std::move(set), options);
  order.choose();
  if (order.records_ > 0) return order;
  if (options.split == Split::kAll)
    return fail_hint(Code::kInvalidArgument, "shard by record, or into fewer parts",
                     "part {} of {} holds none of the {} records", options.shard, options.shards,
                     order.set_->records());
  return fail_hint(Code::kInvalidArgument, "build more records, or hold out another share",
                   "of {} records, a held-out share of {} leaves none {}", order.set_->records(),
                   options.held_out_fraction,
                   options.split == Split::kHeldOut ? "held out" : "for training");
}

// Finds the split of every block.
void RecordOrder::choose() {
  const auto& blocks = set_->blocks();
  by_block_ = blocks.size() >= kManyBlocks;
  int64_t first = 0;
  for (const RecordBlock& block : blocks) {
    first_.push_back(first);
    first += block.records;
  }
  if (options_.split != Split::kAll) {
    const int64_t units = by_block_ ? static_cast<int64_t>(blocks.size()) : set_->records();
    const Key key = held_out_key();
    float smallest = 2;
    for (int64_t unit = 0; unit < units; ++unit) {
      const float value = key.uniform(static_cast<uint64_t>(unit));
      if (value < smallest) smallest = value, forced_unit_ = unit;
    }
  }
  for (size_t b = 0; b < blocks.size(); ++b) {
    int32_t count = 0;
    for (int32_t i = 0; i < blocks[b].records; ++i) count += selects(static_cast<int32_t>(b), i);
    selected_.push_back(count);
    records_ += count;
    tokens_ += selected_tokens(static_cast<int32_t>(b), count);
  }
}

bool RecordOrder::held_out(int64_t unit) const {
  return options_.held_out_fraction > 0 &&
         (unit == forced_unit_ || held_out_key().uniform(static_cast<uint64_t>(unit)) <
                                      static_cast<float>(options_.held_out_fraction));
}

int64_t RecordOrder::selected_tokens(int32_t block, int32_t count) const {
  const RecordBlock& of = set_->blocks()[static_cast<size_t>(block)];
  if (count == of.records || !set_->keeps_sizes()) return of.tokens * count / of.records;
  int64_t tokens = 0;
  for (int32_t i = 0; i < of.records; ++i)
    if (selects(block, i)) tokens += set_->record_tokens(block, i);
  return tokens;
}

bool RecordOrder::selects(int32_t block, int32_t i) const {
  const int64_t number = first_[static_cast<size_t>(block)] + i;
  if (options_.shards > 1) {
    const int64_t dealt = options_.shard_by_record
                              ? number
                              : int64_t{set_->blocks()[static_cast<size_t>(block)].shard};
    if (dealt % options_.shards != options_.shard) return false;
  }
  if (options_.split == Split::kAll) return true;
  const int64_t unit = by_block_ ? block : number;
  return held_out(unit) == (options_.split == Split::kHeldOut);
}

Key RecordOrder::epoch_key(int64_t epoch) const {
  return Key::from_seed(options_.seed).fold_in("shuffle").fold_in(static_cast<uint32_t>(epoch));
}

EpochPlan RecordOrder::plan(int64_t epoch) const {
  EpochPlan plan;
  for (size_t b = 0; b < selected_.size(); ++b)
    if (selected_[b] > 0) plan.blocks.push_back(static_cast<int32_t>(b));
  if (options_.shuffle) shuffle(plan.blocks, epoch_key(epoch).fold_in("blocks"));
  plan.window_blocks.push_back(0);
  plan.window_positions.push_back(0);
  int64_t records = 0, bytes = 0;
  for (size_t i = 0; i < plan.blocks.size(); ++i) {
    const auto block = static_cast<size_t>(plan.blocks[i]);
    records += selected_[block];
    bytes += set_->blocks()[block].bytes;
    const bool full = records >= options_.window_records || bytes >= options_.window_bytes;
    if (!full && i + 1 < plan.blocks.size()) continue;
    plan.window_blocks.push_back(static_cast<int64_t>(i) + 1);
    plan.window_positions.push_back(plan.window_positions.back() + records);
    records = bytes = 0;
  }
  return plan;
}

std::vector<int32_t> RecordOrder::permutation(int64_t epoch, int64_t window, int32_t size) const {
  std::vector<int32_t> order(static_cast<size_t>(size));
  std::iota(order.begin(), order.end(), 0);
  if (options_.shuffle)
    shuffle(order, epoch_key(epoch).fold_in("records").fold_in(static_cast<uint32_t>(window)));
  return order;
}

int64_t RecordOrder::window_bytes() const {
  int64_t total = 0, largest_block = 0;
  for (const RecordBlock& block : set_->blocks()) {
    total += block.bytes;
    largest_block = std::max(largest_block, block.bytes);
  }
  const double per_record = static_cast<double>(total) / static_cast<double>(set_->records());
  const auto by_count = static_cast<int64_t>(
      per_record * static_cast<double>(options_.window_records + RecordSet::kBlockRecords));
  return std::min({total, by_count, options_.window_bytes + largest_block});
}

}  // namespace headwater
