#include "tokens/pair_joiner.h"

#include <algorithm>

namespace headwater {

void PairJoiner::add(std::vector<int32_t> pieces, int64_t count) {
  if (pieces.size() < 2) return;
  sequences_.push_back({std::move(pieces), count});
}

uint32_t PairJoiner::entry_of(int32_t left, int32_t right) {
  const uint64_t key =
      (static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32) | static_cast<uint32_t>(right);
  const auto [place, fresh] = places_.try_emplace(key, static_cast<uint32_t>(entries_.size()));
  if (fresh) entries_.push_back({left, right});
  return place->second;
}

void PairJoiner::add_pair(uint32_t sequence, int32_t left, int32_t right) {
  Entry& entry = entries_[entry_of(left, right)];
  entry.count += sequences_[sequence].count;
  if (entry.sequences.empty() || entry.sequences.back() != sequence)
    entry.sequences.push_back(sequence);
}

void PairJoiner::push(uint32_t index) {
  const Entry& entry = entries_[index];
  if (entry.count >= std::max<int64_t>(min_frequency_, 1))
    candidates_.push({entry.count, entry.left, entry.right, index});
}

std::optional<PairJoiner::Pair> PairJoiner::next() {
  if (!started_) {
    started_ = true;
    for (uint32_t i = 0; i < sequences_.size(); ++i) {
      const std::vector<int32_t>& pieces = sequences_[i].pieces;
      for (size_t k = 1; k < pieces.size(); ++k) add_pair(i, pieces[k - 1], pieces[k]);
    }
    for (uint32_t i = 0; i < entries_.size(); ++i) push(i);
  }
  while (!candidates_.empty()) {
    const Candidate best = candidates_.top();
    candidates_.pop();
    if (entries_[best.entry].count == best.count) return Pair{best.left, best.right, best.count};
    push(best.entry);  // counts only fall between visits, so this keeps the order
  }
  return std::nullopt;
}

// Only pairs beside a joined one change: a word costs what is joined in it, however often other
// pairs of it were counted.
void PairJoiner::join_in(uint32_t index, const Pair& pair, int32_t joined,
                         std::vector<uint32_t>& touched) {
  std::vector<int32_t>& pieces = sequences_[index].pieces;
  const int64_t count = sequences_[index].count;
  const auto remove_pair = [&](int32_t left, int32_t right) {
    entries_[entry_of(left, right)].count -= count;
  };
  old_.assign(pieces.begin(), pieces.end());
  changed_.assign(pieces.size(), 0);  // of the old pieces
  size_t out = 0;
  fresh_.clear();  // places of the joined pieces
  for (size_t i = 0; i < old_.size(); ++i) {
    const bool here = i + 1 < old_.size() && old_[i] == pair.left && old_[i + 1] == pair.right;
    if (here) {
      fresh_.push_back(out);
      changed_[i] = changed_[i + 1] = 1;
    }
    pieces[out++] = here ? joined : old_[i];
    i += here ? 1 : 0;
  }
  if (fresh_.empty()) return;
  pieces.resize(out);
  for (size_t i = 1; i < old_.size(); ++i) {
    if (changed_[i - 1] != 0 || changed_[i] != 0) remove_pair(old_[i - 1], old_[i]);
  }
  size_t counted = 0;  // pairs up to this place are
  for (const size_t place : fresh_) {
    for (size_t i = std::max(std::max<size_t>(place, 1), counted + 1);
         i <= place + 1 && i < pieces.size(); ++i) {
      add_pair(index, pieces[i - 1], pieces[i]);
      touched.push_back(entry_of(pieces[i - 1], pieces[i]));
      counted = i;
    }
  }
}

void PairJoiner::join(const Pair& pair, int32_t joined) {
  const std::vector<uint32_t> places =
      std::move(entries_[entry_of(pair.left, pair.right)].sequences);
  std::vector<uint32_t> touched;  // pairs that are new, or, where `joined` existed before, gained
  for (const uint32_t place : places) join_in(place, pair, joined, touched);
  std::sort(touched.begin(), touched.end());
  touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
  for (const uint32_t entry : touched) push(entry);
}

}  // namespace headwater
