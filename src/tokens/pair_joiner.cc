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

// Adds (sign 1) or takes away (-1) the pairs of a sequence.
void PairJoiner::count_pairs(uint32_t index, int sign) {
  const Sequence& sequence = sequences_[index];
  for (size_t i = 1; i < sequence.pieces.size(); ++i) {
    Entry& entry = entries_[entry_of(sequence.pieces[i - 1], sequence.pieces[i])];
    entry.count += sign * sequence.count;
    if (sign > 0 && (entry.sequences.empty() || entry.sequences.back() != index))
      entry.sequences.push_back(index);
  }
}

void PairJoiner::push(uint32_t index) {
  const Entry& entry = entries_[index];
  if (entry.count >= std::max<int64_t>(min_frequency_, 1))
    candidates_.push({entry.count, entry.left, entry.right, index});
}

std::optional<PairJoiner::Pair> PairJoiner::next() {
  if (!started_) {
    started_ = true;
    for (uint32_t i = 0; i < sequences_.size(); ++i) count_pairs(i, 1);
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

void PairJoiner::join(const Pair& pair, int32_t joined) {
  const std::vector<uint32_t> places =
      std::move(entries_[entry_of(pair.left, pair.right)].sequences);
  const size_t first_new = entries_.size();
  std::vector<uint32_t> grown;  // older pairs that gained; only when `joined` existed before
  for (const uint32_t place : places) {
    count_pairs(place, -1);
    std::vector<int32_t>& pieces = sequences_[place].pieces;
    size_t out = 0;
    for (size_t i = 0; i < pieces.size(); ++i) {
      const bool here =
          pieces[i] == pair.left && i + 1 < pieces.size() && pieces[i + 1] == pair.right;
      pieces[out++] = here ? joined : pieces[i];
      i += here ? 1 : 0;
    }
    pieces.resize(out);
    count_pairs(place, 1);
    for (size_t i = 1; i < pieces.size(); ++i) {
      if (pieces[i - 1] != joined && pieces[i] != joined) continue;
      const uint32_t entry = entry_of(pieces[i - 1], pieces[i]);
      if (entry < first_new) grown.push_back(entry);
    }
  }
  std::sort(grown.begin(), grown.end());
  grown.erase(std::unique(grown.begin(), grown.end()), grown.end());
  for (const uint32_t entry : grown) push(entry);
  for (size_t entry = first_new; entry < entries_.size(); ++entry)
    push(static_cast<uint32_t>(entry));
}

}  // namespace headwater
