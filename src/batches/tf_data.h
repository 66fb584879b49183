// The stages of tf.data that decide an order, over numbers instead of elements: interleave, shard,
// shuffle, repeat. The same numbers come in the same order as from TensorFlow, bit for bit
// (tests/golden/tfdata), so that a run can see its data exactly as an earlier one there did.
//
// Shuffling draws from Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
// SC 2011), counted as TensorFlow counts. Batches and padding do not change an order and stand
// elsewhere. The default order of training is another one (record_order.h): it need not be replayed
// to be resumed.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>

namespace headwater {

// 32-bit words of Philox4x32-10 under the key `seed`, from counter (0, seed2) on.
class PhiloxStream {
 public:
  PhiloxStream(uint64_t seed, uint64_t seed2);
  uint32_t next();

 private:
  std::array<uint32_t, 2> key_;
  std::array<uint32_t, 4> counter_, block_{};
  size_t used_ = 4;  // words of block_
};

// The pair of seeds of an operation: tf.random.set_seed(global) and the operation's own seed.
// Neither may be missing in a run that is to be repeated; `operation` counts the operations without
// a seed of their own since set_seed, from 0.
struct TfSeeds {
  uint64_t seed = 0, seed2 = 0;
};
TfSeeds tf_seeds(std::optional<int64_t> global_seed, std::optional<int64_t> seed,
                 int64_t operation = 0);

using Numbers = std::function<std::optional<int64_t>()>;  // an iterator: the next one, or the end
using NumberSet = std::function<Numbers()>;               // a dataset: starts an iteration

NumberSet tf_range(int64_t begin, int64_t end);
// Every `shards`th number, from the `index`th on.
NumberSet tf_shard(NumberSet input, int64_t shards, int64_t index);
// Goes round over `cycle_length` of the sets that `open` makes of the input's numbers, taking
// `block_length` of each.
NumberSet tf_interleave(NumberSet input, std::function<NumberSet(int64_t)> open,
                        int64_t cycle_length, int64_t block_length);
// `reshuffle`: every iteration of the set, and of its copies, has another order.
NumberSet tf_shuffle(NumberSet input, int64_t buffer_size, TfSeeds seeds, bool reshuffle);
NumberSet tf_repeat(NumberSet input, int64_t count);  // below 0: without end

}  // namespace headwater
