// What both vocabulary trainers do with words: find the most frequent pair of neighbouring pieces
// and join it everywhere (Sennrich et al. 2016, section 3.2), each step in the time of the words it
// changes. Deterministic: ties go to the pair of the older pieces, that is, of the lower ids, the
// left one first.
#pragma once

#include <cstdint>
#include <optional>
#include <queue>
#include <unordered_map>
#include <vector>

namespace headwater {

class PairJoiner {
 public:
  struct Pair {
    int32_t left = 0, right = 0;  // ids of pieces
    int64_t count = 0;
  };

  // Pairs that occur less often are never joined.
  explicit PairJoiner(int64_t min_frequency) : min_frequency_(min_frequency) {}

  // A word, or part of one, and how often it occurs. All are added before the first next().
  void add(std::vector<int32_t> pieces, int64_t count);

  // The pair to join now, or nothing when none is frequent enough. It must be joined before the
  // next is asked for.
  std::optional<Pair> next();
  // Joins the pair that next() gave to the piece `joined`, which may have existed before.
  void join(const Pair& pair, int32_t joined);

 private:
  // A word as the pieces it consists of now.
  struct Sequence {
    std::vector<int32_t> pieces;
    int64_t count;
  };
  struct Entry {
    int32_t left, right;
    int64_t count = 0;
    std::vector<uint32_t> sequences = {};  // where it occurs, or did once
  };
  // A claim that an entry occurs `count` times; stale when it no longer does.
  struct Candidate {
    int64_t count;
    int32_t left, right;
    uint32_t entry;
    bool operator<(const Candidate& o) const {  // the top of the heap is the largest
      if (count != o.count) return count < o.count;
      return left != o.left ? left > o.left : right > o.right;
    }
  };

  uint32_t entry_of(int32_t left, int32_t right);
  void add_pair(uint32_t sequence, int32_t left, int32_t right);
  void join_in(uint32_t sequence, const Pair& pair, int32_t joined, std::vector<uint32_t>& touched);
  void push(uint32_t entry);

  int64_t min_frequency_;
  bool started_ = false;
  std::vector<Sequence> sequences_;
  std::vector<Entry> entries_;
  std::unordered_map<uint64_t, uint32_t> places_;  // of entries, by both ids
  std::priority_queue<Candidate> candidates_;
  // Of join_in, kept for their memory.
  std::vector<int32_t> old_;
  std::vector<uint8_t> changed_;
  std::vector<size_t> fresh_;
};

}  // namespace headwater
