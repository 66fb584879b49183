#include "tokens/bpe_merger.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>

namespace headwater {
namespace {

uint64_t load64(const char* p) {
  uint64_t value = 0;
  std::memcpy(&value, p, 8);
  return value;
}
uint32_t load32(const char* p) {
  uint32_t value = 0;
  std::memcpy(&value, p, 4);
  return value;
}

constexpr int kFilterShift = 32;  // the filter takes other bits of a hash than the table

// Slots of a table that stays at least half empty.
size_t table_size(size_t entries) { return std::bit_ceil(2 * entries + 2); }

}  // namespace

BpeMerger::BpeMerger(const BpeModel& model) : byte_ids_(model.byte_ids()) {
  pairs_.assign(table_size(model.merges().size()), kFreePair);
  pair_mask_ = pairs_.size() - 1;
  for (const BpeMerge& merge : model.merges()) {
    add_pair(merge.left, merge.right, static_cast<uint32_t>(joined_.size()));
    joined_.push_back(merge.joined);
  }
  byte_ranks_.resize(size_t{256} * 256);
  for (size_t i = 0; i < byte_ranks_.size(); ++i)
    byte_ranks_[i] = rank(byte_ids_[i >> 8], byte_ids_[i & 0xFF]);
  words_.resize(table_size(static_cast<size_t>(model.size())));
  word_mask_ = words_.size() - 1;
  filter_mask_ = 8 * words_.size() - 1;
  word_filter_.resize(words_.size() / 8 + 1);
  std::vector<int32_t> ids;
  for (int64_t id = 0; id < model.size(); ++id) {
    const std::string& bytes = model.bytes(id);
    if (bytes.empty() || bytes.size() > kLongestKey || model.is_added(id)) continue;
    ids.clear();
    if (!model.ignore_merges()) merge(bytes, ids);
    if (model.ignore_merges() || (ids.size() == 1 && ids[0] == id))
      add_word(bytes, static_cast<int32_t>(id));
  }
}

// Of a pair given twice the last rank counts, as in Hugging Face's reader.
void BpeMerger::add_pair(int32_t left, int32_t right, uint32_t rank) {
  const uint64_t pair = pair_of(left, right);
  size_t i = hash(pair) & pair_mask_;
  while (pairs_[i] != kFreePair && (pairs_[i] >> kIdBits) != pair) i = (i + 1) & pair_mask_;
  pairs_[i] = (pair << kIdBits) | rank;
}

// Overlapping loads: together with the length they tell any two words apart.
BpeMerger::Key BpeMerger::key_of(std::string_view word) {
  const char* const p = word.data();
  const size_t n = word.size();
  Key key;
  key.length = static_cast<int32_t>(n);
  if (n > 16) {
    key.words = {load64(p), load64(p + 8), load64(p + n - 8)};
  } else if (n >= 8) {
    key.words = {load64(p), load64(p + n - 8), 0};
  } else if (n >= 4) {
    key.words = {load32(p), load32(p + n - 4), 0};
  } else {
    const auto byte = [p](size_t i) { return uint64_t{static_cast<uint8_t>(p[i])}; };
    key.words = {byte(0) | (byte(n / 2) << 8) | (byte(n - 1) << 16), 0, 0};
  }
  return key;
}

uint64_t BpeMerger::hash(const Key& key) {
  constexpr uint64_t kOdd = 0x9E3779B97F4A7C15u;
  uint64_t h = key.words[0] * kOdd;
  h = (std::rotl(h, 29) ^ key.words[1]) * kOdd;
  h = (std::rotl(h, 29) ^ key.words[2] ^ static_cast<uint64_t>(key.length)) * kOdd;
  return h ^ (h >> 32);
}

void BpeMerger::add_word(std::string_view word, int32_t id) {
  const Key key = key_of(word);
  const uint64_t h = hash(key);
  const size_t bit = (h >> kFilterShift) & filter_mask_;
  word_filter_[bit / 64] |= uint64_t{1} << (bit % 64);
  size_t i = h & word_mask_;
  while (words_[i].length != 0) i = (i + 1) & word_mask_;
  words_[i] = {key.words, key.length, id};
}

int32_t BpeMerger::find_word(std::string_view word) const {
  if (word.size() > kLongestKey) return -1;
  const Key key = key_of(word);
  const uint64_t h = hash(key);
  const size_t bit = (h >> kFilterShift) & filter_mask_;
  if ((word_filter_[bit / 64] >> (bit % 64) & 1) == 0) return -1;
  for (size_t i = h & word_mask_;; i = (i + 1) & word_mask_) {
    const WordSlot& slot = words_[i];
    if (slot.length == key.length && slot.words == key.words) return slot.id;
    if (slot.length == 0) return -1;
  }
}

void BpeMerger::append_ids(std::string_view word, std::vector<int32_t>& ids) const {
  if (const int32_t id = find_word(word); id >= 0) {
    ids.push_back(id);
  } else {
    merge(word, ids);
  }
}

void BpeMerger::merge_short(std::string_view word, std::vector<int32_t>& ids) const {
  std::array<int32_t, kShortWord> tokens;
  std::array<uint32_t, kShortWord> ranks;  // of a token and the next one
  size_t n = word.size();
  for (size_t i = 0; i < n; ++i) tokens[i] = byte_ids_[static_cast<uint8_t>(word[i])];
  for (size_t i = 0; i + 1 < n; ++i) {
    const size_t left = static_cast<uint8_t>(word[i]), right = static_cast<uint8_t>(word[i + 1]);
    ranks[i] = byte_ranks_[left << 8 | right];
  }
  while (n > 1) {
    const auto best =
        std::min_element(ranks.begin(), ranks.begin() + static_cast<ptrdiff_t>(n - 1));
    if (*best == kNone) break;
    const size_t at = static_cast<size_t>(best - ranks.begin());
    tokens[at] = joined_[*best];
    --n;
    for (size_t i = at + 1; i < n; ++i) tokens[i] = tokens[i + 1];
    for (size_t i = at; i + 1 < n; ++i) ranks[i] = ranks[i + 1];
    if (at > 0) ranks[at - 1] = rank(tokens[at - 1], tokens[at]);
    if (at + 1 < n) ranks[at] = rank(tokens[at], tokens[at + 1]);
  }
  ids.insert(ids.end(), tokens.begin(), tokens.begin() + static_cast<ptrdiff_t>(n));
}

void BpeMerger::merge_long(std::string_view word, std::vector<int32_t>& ids) const {
  struct Piece {
    int32_t id;
    int64_t previous, next;  // places of the neighbours; -1 and the number of pieces at the ends
    uint32_t rank;           // with the next one; kNone when there is none or nothing stands here
  };
  struct Candidate {
    uint32_t rank;
    int64_t place;
    bool operator>(const Candidate& o) const {
      return rank != o.rank ? rank > o.rank : place > o.place;
    }
  };
  const auto count = static_cast<int64_t>(word.size());
  std::vector<Piece> pieces;
  pieces.reserve(word.size());
  for (int64_t i = 0; i < count; ++i) {
    const auto byte = static_cast<uint8_t>(word[static_cast<size_t>(i)]);
    pieces.push_back({byte_ids_[byte], i - 1, i + 1, kNone});
  }
  const auto piece = [&](int64_t place) -> Piece& { return pieces[static_cast<size_t>(place)]; };
  std::vector<Candidate> heap;
  const auto rank_at = [&](int64_t place) {
    Piece& p = piece(place);
    p.rank = p.next < count ? rank(p.id, piece(p.next).id) : kNone;
    if (p.rank == kNone) return;
    heap.push_back({p.rank, place});
    std::push_heap(heap.begin(), heap.end(), std::greater<>());
  };
  for (int64_t i = 0; i < count; ++i) rank_at(i);
  while (!heap.empty()) {
    const Candidate best = heap.front();
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    heap.pop_back();
    Piece& left = piece(best.place);
    if (left.rank != best.rank) continue;  // a neighbour was merged since
    Piece& right = piece(left.next);
    left.id = joined_[best.rank];
    left.next = right.next;
    right.rank = kNone;
    if (left.next < count) piece(left.next).previous = best.place;
    rank_at(best.place);
    if (left.previous >= 0) rank_at(left.previous);
  }
  for (int64_t i = 0; i < count; i = piece(i).next) ids.push_back(piece(i).id);
}

}  // namespace headwater
