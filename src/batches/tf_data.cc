#include "batches/tf_data.h"

#include <limits>
#include <memory>
#include <utility>
#include <vector>

namespace headwater {
namespace {

constexpr uint64_t kDefaultGlobalSeed = 87654321;
constexpr int64_t kLargestOperationSeed = std::numeric_limits<int32_t>::max();

// The Mersenne Twister MT19937 (Matsumoto and Nishimura, 1998), seeded by an array of words: what
// Python's random.Random(n) draws from, and from that TensorFlow the seeds of operations without
// one.
class MersenneTwister {
 public:
  explicit MersenneTwister(uint64_t seed) {
    std::vector<uint32_t> words = {static_cast<uint32_t>(seed)};
    if (seed >> 32 != 0) words.push_back(static_cast<uint32_t>(seed >> 32));
    state_[0] = 19650218;
    for (uint32_t i = 1; i < kSize; ++i) state_[i] = 1812433253 * mixed(i - 1) + i;
    uint32_t at = 1, word = 0;
    for (uint32_t n = 0; n < kSize; ++n) {
      state_[at] = (state_[at] ^ mixed(at - 1) * 1664525) + words[word] + word;
      word = (word + 1) % static_cast<uint32_t>(words.size());
      at = wrapped(at + 1);
    }
    for (uint32_t n = 1; n < kSize; ++n) {
      state_[at] = (state_[at] ^ mixed(at - 1) * 1566083941) - at;
      at = wrapped(at + 1);
    }
    state_[0] = 0x80000000;
  }

  uint32_t next() {
    if (used_ == kSize) twist();
    uint32_t y = state_[used_++];
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680;
    y ^= y << 15 & 0xefc60000;
    return y ^ y >> 18;
  }

 private:
  static constexpr uint32_t kSize = 624, kShift = 397;

  uint32_t mixed(uint32_t i) const { return state_[i] ^ state_[i] >> 30; }
  // Behind the last word comes word 1; word 0 takes the last one's value.
  uint32_t wrapped(uint32_t i) {
    if (i < kSize) return i;
    state_[0] = state_[kSize - 1];
    return 1;
  }
  void twist() {
    for (uint32_t i = 0; i < kSize; ++i) {
      const uint32_t y = (state_[i] & 0x80000000) | (state_[(i + 1) % kSize] & 0x7fffffff);
      state_[i] = state_[(i + kShift) % kSize] ^ y >> 1 ^ (y & 1 ? 0x9908b0df : 0);
    }
    used_ = 0;
  }

  std::array<uint32_t, kSize> state_{};
  uint32_t used_ = kSize;
};

// Python's randint(0, 2^31 - 1), the `operation`th since the seed.
int64_t operation_seed(int64_t global_seed, int64_t operation) {
  MersenneTwister random(global_seed < 0 ? uint64_t{0} - static_cast<uint64_t>(global_seed)
                                         : static_cast<uint64_t>(global_seed));
  int64_t value = 0;
  for (int64_t i = 0; i <= operation; ++i) do
      value = random.next();
    while (value > kLargestOperationSeed);
  return value;
}

// The buffer of a shuffled set: full as long as the input lasts; a drawn place is filled with the
// oldest element.
class ShuffleBuffer {
 public:
  ShuffleBuffer(Numbers input, int64_t size, PhiloxStream random)
      : input_(std::move(input)), size_(static_cast<uint64_t>(size)), random_(random) {}

  std::optional<int64_t> next() {
    while (!ended_ && count_ < size_) {
      const auto number = input_();
      if (!number) ended_ = true;
      else put((start_ + count_++) % size_, *number);
    }
    if (count_ == 0) return std::nullopt;
    const uint64_t drawn = (start_ + random_.next() % count_) % size_;
    const int64_t number = std::exchange(ring_[drawn], ring_[start_]);
    start_ = (start_ + 1) % size_;
    --count_;
    return number;
  }

 private:
  // The ring grows with what is put in: an input may be far smaller than the buffer.
  void put(uint64_t place, int64_t number) {
    if (place >= ring_.size()) ring_.resize(place + 1);
    ring_[place] = number;
  }

  Numbers input_;
  uint64_t size_;
  PhiloxStream random_;
  std::vector<int64_t> ring_;
  uint64_t start_ = 0, count_ = 0;
  bool ended_ = false;
};

class Interleave {
 public:
  Interleave(Numbers input, std::function<NumberSet(int64_t)> open, int64_t cycle, int64_t block)
      : input_(std::move(input)), open_(std::move(open)), block_(block) {
    slots_.resize(static_cast<size_t>(cycle));
  }

  std::optional<int64_t> next() {
    while (!ended_ || opened_ > 0) {
      Numbers& slot = slots_[at_];
      if (slot) {
        if (const auto number = slot()) {
          if (++taken_ == block_) advance();
          return number;
        }
        slot = nullptr;  // the place stays empty until its next turn
        --opened_;
        advance();
      } else if (const auto opened = ended_ ? std::nullopt : input_()) {
        slot = open_(*opened)();
        ++opened_;
      } else {
        ended_ = true;
        advance();
      }
    }
    return std::nullopt;
  }

 private:
  void advance() {
    taken_ = 0;
    at_ = (at_ + 1) % slots_.size();
  }

  Numbers input_;
  std::function<NumberSet(int64_t)> open_;
  std::vector<Numbers> slots_;
  size_t at_ = 0;
  int64_t block_, taken_ = 0, opened_ = 0;
  bool ended_ = false;
};

}  // namespace

PhiloxStream::PhiloxStream(uint64_t seed, uint64_t seed2)
    : key_{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)},
      counter_{0, 0, static_cast<uint32_t>(seed2), static_cast<uint32_t>(seed2 >> 32)} {}

uint32_t PhiloxStream::next() {
  if (used_ < block_.size()) return block_[used_++];
  block_ = counter_;
  auto key = key_;
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * block_[0], b = uint64_t{0xCD9E8D57} * block_[2];
    block_ = {static_cast<uint32_t>(b >> 32) ^ block_[1] ^ key[0], static_cast<uint32_t>(b),
              static_cast<uint32_t>(a >> 32) ^ block_[3] ^ key[1], static_cast<uint32_t>(a)};
    key[0] += 0x9E3779B9, key[1] += 0xBB67AE85;
  }
  for (uint32_t& word : counter_)
    if (++word != 0) break;
  used_ = 1;
  return block_[0];
}

TfSeeds tf_seeds(std::optional<int64_t> global_seed, std::optional<int64_t> seed,
                 int64_t operation) {
  TfSeeds seeds;
  seeds.seed = global_seed ? static_cast<uint64_t>(*global_seed) : kDefaultGlobalSeed;
  const int64_t own = seed ? *seed : global_seed ? operation_seed(*global_seed, operation) : 0;
  seeds.seed2 = static_cast<uint64_t>(own);
  if (seeds.seed == 0 && seeds.seed2 == 0) seeds.seed2 = kLargestOperationSeed;
  return seeds;
}

NumberSet tf_range(int64_t begin, int64_t end) {
  return [begin, end]() -> Numbers {
    return
        [next = begin, end]() mutable { return next < end ? std::optional(next++) : std::nullopt; };
  };
}

NumberSet tf_shard(NumberSet input, int64_t shards, int64_t index) {
  return [input = std::move(input), shards, index]() -> Numbers {
    return [numbers = input(), shards, index, at = int64_t{0}]() mutable {
      auto number = numbers();
      for (; number && at % shards != index; ++at) number = numbers();
      ++at;
      return number;
    };
  };
}

NumberSet tf_interleave(NumberSet input, std::function<NumberSet(int64_t)> open,
                        int64_t cycle_length, int64_t block_length) {
  return
      [input = std::move(input), open = std::move(open), cycle_length, block_length]() -> Numbers {
        return [interleave = Interleave(input(), open, cycle_length, block_length)]() mutable {
          return interleave.next();
        };
      };
}

NumberSet tf_shuffle(NumberSet input, int64_t buffer_size, TfSeeds seeds, bool reshuffle) {
  const auto parent = std::make_shared<PhiloxStream>(seeds.seed, seeds.seed2);
  return [input = std::move(input), buffer_size, seeds, reshuffle, parent]() -> Numbers {
    TfSeeds own = seeds;
    if (reshuffle) own.seed = parent->next(), own.seed2 = parent->next();
    return [buffer =
                ShuffleBuffer(input(), buffer_size, PhiloxStream(own.seed, own.seed2))]() mutable {
      return buffer.next();
    };
  };
}

NumberSet tf_repeat(NumberSet input, int64_t count) {
  return [input = std::move(input), count]() -> Numbers {
    return [input, count, numbers = Numbers(), some = false,
            begun = int64_t{0}]() mutable -> std::optional<int64_t> {
      while (true) {
        if (!numbers) {
          if (begun == count) return std::nullopt;
          numbers = input();
          some = false;
          ++begun;
        }
        if (const auto number = numbers()) {
          some = true;
          return number;
        }
        numbers = nullptr;
        if (!some && count < 0) return std::nullopt;  // nothing to repeat
      }
    };
  };
}

}  // namespace headwater
