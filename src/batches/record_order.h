// The order of training: which record stands at position p of an endless run over epochs.
//
// A pure function of (records, options, epoch, position), so that a run resumes anywhere and does
// not depend on threads or devices. An epoch permutes blocks, cuts the permuted list into windows
// of bounded size, and permutes the records of each window: reads stay nearly sequential, memory is
// two windows, and a set smaller than a window is permuted as a whole. Every record comes once per
// epoch.
//
// A held-out part is chosen by a hash of the place that no seed moves, so that every run holds out
// the same; block by block in large sets, record by record in small ones.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/threefry.h"
#include "batches/record_set.h"

namespace headwater {

enum class Split { kAll, kTrain, kHeldOut };

struct RecordOrderOptions {
  Split split = Split::kAll;
  double held_out_fraction = 0;  // of kTrain and kHeldOut
  bool shuffle = true;           // false: as the records stand in the shards
  uint64_t seed = 0;
  int64_t window_records = 16384;
  int64_t window_bytes = int64_t{256} << 20;
  // Only the part `shard` of `shards`: every nth file, or every nth record.
  int64_t shards = 1, shard = 0;
  bool shard_by_record = false;
};

// One epoch: blocks in order, and where windows begin.
struct EpochPlan {
  std::vector<int32_t> blocks;
  std::vector<int64_t> window_blocks;  // of window w: blocks [window_blocks[w], window_blocks[w+1])
  std::vector<int64_t> window_positions;  // of window w: positions [.. w], [.. w+1])
  int64_t windows() const { return static_cast<int64_t>(window_blocks.size()) - 1; }
};

class RecordOrder {
 public:
  // An error when the split, or the shard, holds no record.
  static Result<RecordOrder> create(std::shared_ptr<const RecordSet> set,
                                    const RecordOrderOptions& options);

  int64_t records() const { return records_; }  // of an epoch
  // Of an epoch. Where only some records of a block are selected, exact if the set keeps sizes.
  int64_t tokens() const { return tokens_; }
  int64_t window_bytes() const;  // of the largest window, about
  const RecordSet& set() const { return *set_; }
  const std::shared_ptr<const RecordSet>& shared_set() const { return set_; }
  EpochPlan plan(int64_t epoch) const;
  // Whether record i of a block is in the split.
  bool selects(int32_t block, int32_t i) const;
  int32_t selected(int32_t block) const { return selected_[static_cast<size_t>(block)]; }
  // The permutation of the `size` records of a window: position to index in reading order.
  std::vector<int32_t> permutation(int64_t epoch, int64_t window, int32_t size) const;

 private:
  RecordOrder(std::shared_ptr<const RecordSet> set, const RecordOrderOptions& options)
      : set_(std::move(set)), options_(options) {}
  void choose();
  Key epoch_key(int64_t epoch) const;
  bool held_out(int64_t unit) const;
  int64_t selected_tokens(int32_t block, int32_t count) const;

  std::shared_ptr<const RecordSet> set_;
  RecordOrderOptions options_;
  std::vector<int64_t> first_;     // number of a block's first record in the set
  std::vector<int32_t> selected_;  // records of a block that are in the split
  int64_t records_ = 0, tokens_ = 0;
  bool by_block_ = false;
  int64_t forced_unit_ = -1;  // the unit with the smallest hash: held out in any case
};

}  // namespace headwater
