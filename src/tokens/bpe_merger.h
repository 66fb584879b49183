// One word to the ids of its tokens: of all neighbours that the model merges, those of the lowest
// rank are merged first, the leftmost of equals; until none is left.
//
// A word that is one token needs one look-up: whether merging really ends there was tried when the
// table was made. Other words of up to 64 bytes are merged in place on the stack, longer ones with
// a heap, so that the time stays n log n for a word of n bytes.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tokens/bpe_model.h"

namespace headwater {

class BpeMerger {
 public:
  explicit BpeMerger(const BpeModel& model);

  // Appends the ids of a word that is not empty.
  void append_ids(std::string_view word, std::vector<int32_t>& ids) const;

 private:
  static constexpr size_t kShortWord = 64;     // bytes
  static constexpr size_t kLongestKey = 24;    // bytes of a word in the table of whole words
  static constexpr uint32_t kNone = 0x1FFFFF;  // no rank; ranks and ids have 21 bits
  static constexpr int kIdBits = 21;

  // A word of up to 24 bytes, by value.
  struct Key {
    std::array<uint64_t, 3> words{};
    int32_t length = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct WordSlot {
    std::array<uint64_t, 3> words{};
    int32_t length = 0;  // 0: free
    int32_t id = 0;
  };

  static Key key_of(std::string_view word);
  static uint64_t hash(const Key& key);
  static size_t hash(uint64_t pair) {
    return static_cast<size_t>((pair * 0x9E3779B97F4A7C15u) >> 32);
  }
  static uint64_t pair_of(int32_t left, int32_t right) {
    return (static_cast<uint64_t>(left) << kIdBits) | static_cast<uint64_t>(right);
  }

  void add_pair(int32_t left, int32_t right, uint32_t rank);
  void add_word(std::string_view word, int32_t id);
  int32_t find_word(std::string_view word) const;  // -1 when it is not in the table

  // The rank of a merge, or kNone.
  uint32_t rank(int32_t left, int32_t right) const {
    const uint64_t pair = pair_of(left, right);
    for (size_t i = hash(pair) & pair_mask_;; i = (i + 1) & pair_mask_) {
      const uint64_t slot = pairs_[i];
      if ((slot >> kIdBits) == pair) return static_cast<uint32_t>(slot & kNone);
      if (slot == kFreePair) return kNone;
    }
  }

  void merge_short(std::string_view word, std::vector<int32_t>& ids) const;
  void merge_long(std::string_view word, std::vector<int32_t>& ids) const;
  void merge(std::string_view word, std::vector<int32_t>& ids) const {
    if (word.size() <= kShortWord) return merge_short(word, ids);
    merge_long(word, ids);
  }

  static constexpr uint64_t kFreePair = ~uint64_t{0};

  std::array<int32_t, 256> byte_ids_;
  std::vector<uint32_t> byte_ranks_;  // of two bytes: 256 by 256, for the first look at a word
  std::vector<uint64_t> pairs_;       // left, right, rank: open addressing, half empty
  size_t pair_mask_ = 0;
  std::vector<int32_t> joined_;  // by rank
  std::vector<WordSlot> words_;
  size_t word_mask_ = 0;
  // A bit per hash that is in words_, eight bits per slot: most words that are not there end here,
  // in the cache.
  std::vector<uint64_t> word_filter_;
  size_t filter_mask_ = 0;
};

}  // namespace headwater
