#include "tokens/piece_trie.h"

#include <algorithm>
#include <unordered_map>

namespace headwater {
namespace {

constexpr size_t kMaxNodes = size_t{1} << 25;
constexpr size_t kMaxPlaces = size_t{1} << 28;  // of the double array, free ones included
constexpr int kPlacesTried = 64;  // free places looked at for a state's children, before appending

// The trie before it is laid out.
struct Node {
  uint32_t symbol = 0;
  int32_t id = -1;  // token that ends here
  std::vector<uint32_t> children;
};

}  // namespace

// Lays the trie out, then links the failures breadth first.
class PieceTrie::Builder {
 public:
  explicit Builder(PieceTrie& trie) : trie_(trie) {}

  Result<> run(const std::vector<Piece>& pieces) {
    number_symbols(pieces);
    HW_RETURN_IF_ERROR(insert(pieces));
    HW_RETURN_IF_ERROR(place_all());
    trie_.fails_.resize(trie_.states_.size(), kStuck);
    trie_.pops_.resize(trie_.states_.size());
    for (const auto& [node, state] : order_) link(node, state);
    // Every base + symbol must be inside the array.
    trie_.states_.resize(trie_.states_.size() + trie_.alphabet_.size() + 1);
    trie_.states_.shrink_to_fit();
    return {};
  }

 private:
  void number_symbols(const std::vector<Piece>& pieces) {
    std::unordered_map<char32_t, int64_t> counts;
    for (const Piece& piece : pieces)
      for (const char32_t c : piece.text) ++counts[c];
    std::u32string& alphabet = trie_.alphabet_;
    for (const auto& [c, count] : counts) alphabet.push_back(c);
    std::sort(alphabet.begin(), alphabet.end(), [&](char32_t a, char32_t b) {
      return std::pair(-counts.at(a), a) < std::pair(-counts.at(b), b);
    });
    for (size_t i = 0; i < alphabet.size(); ++i)
      trie_.symbols_.set(alphabet[i], static_cast<uint32_t>(i + 1));
  }

  // Pieces in the order of their symbols give every node its children in that order.
  Result<> insert(const std::vector<Piece>& pieces) {
    struct Path {
      std::vector<uint32_t> symbols;
      bool continuation;
      int32_t id;
    };
    std::vector<Path> paths;
    for (const Piece& piece : pieces) {
      paths.push_back({{}, piece.continuation, piece.id});
      for (const char32_t c : piece.text) paths.back().symbols.push_back(trie_.symbol(c));
    }
    std::stable_sort(paths.begin(), paths.end(), [](const Path& a, const Path& b) {
      return a.continuation != b.continuation ? b.continuation : a.symbols < b.symbols;
    });
    nodes_.resize(2);  // kWordStart and kInsideWord
    const Path* previous = nullptr;
    std::vector<uint32_t> nodes;  // along the previous path, root first
    for (const Path& path : paths) {
      size_t shared = 0;
      if (previous != nullptr && previous->continuation == path.continuation) {
        const auto split = std::mismatch(previous->symbols.begin(), previous->symbols.end(),
                                         path.symbols.begin(), path.symbols.end());
        shared = static_cast<size_t>(split.second - path.symbols.begin());
      } else {
        nodes.assign(1, path.continuation ? 1 : 0);
      }
      nodes.resize(shared + 1);
      for (size_t i = shared; i < path.symbols.size(); ++i) {
        const uint32_t child = static_cast<uint32_t>(nodes_.size());
        nodes_[nodes.back()].children.push_back(child);
        nodes_.push_back({path.symbols[i], -1, {}});
        nodes.push_back(child);
      }
      nodes_[nodes.back()].id = path.id;
      previous = &path;
      if (nodes_.size() > kMaxNodes) {
        return fail(Code::kResourceExhausted, "the vocabulary needs more than {} matching states",
                    kMaxNodes);
      }
    }
    return {};
  }

  // ---- the double array ----

  void grow(size_t size) {
    const size_t old = trie_.states_.size();
    if (size <= old) return;
    trie_.states_.resize(size);
    for (size_t i = old; i < size; ++i) {
      links_.push_back({last_free_, kEnd});
      (last_free_ == kEnd ? first_free_ : links_[last_free_].next) = i;
      last_free_ = i;
    }
  }

  bool is_free(size_t place) const {
    return place >= trie_.states_.size() || (place >= first_place_ && links_[place].free);
  }

  void take(size_t place) {
    Free& slot = links_[place];
    (slot.previous == kEnd ? first_free_ : links_[slot.previous].next) = slot.next;
    (slot.next == kEnd ? last_free_ : links_[slot.next].previous) = slot.previous;
    slot.free = false;
  }

  // A base at which all children of the node fall on free places.
  size_t find_base(const Node& node) const {
    const size_t first = nodes_[node.children.front()].symbol;
    size_t place = first_free_;
    for (int tried = 0; place != kEnd && tried < kPlacesTried;
         ++tried, place = links_[place].next) {
      const size_t base = place - first;
      if (std::all_of(node.children.begin(), node.children.end(),
                      [&](uint32_t child) { return is_free(base + nodes_[child].symbol); }))
        return base;
    }
    return trie_.states_.size() - first;
  }

  Result<> place_all() {
    // Bases stay positive because no child is placed below the largest symbol.
    first_place_ = trie_.alphabet_.size() + 2;
    trie_.states_.resize(first_place_);
    links_.resize(first_place_, {kEnd, kEnd, false});
    order_ = {{0, kWordStart}, {1, kInsideWord}};
    for (size_t i = 0; i < order_.size(); ++i) {
      const auto [node_index, state] = order_[i];
      const Node& node = nodes_[node_index];
      if (node.children.empty()) continue;
      const size_t base = find_base(node);
      grow(base + nodes_[node.children.back()].symbol + 1);
      if (trie_.states_.size() > kMaxPlaces) {
        return fail(Code::kResourceExhausted, "the vocabulary spreads its matching states too far");
      }
      trie_.states_[static_cast<size_t>(state)].packed = static_cast<uint32_t>(base) << 1;
      for (const uint32_t child : node.children) {
        const size_t place = base + nodes_[child].symbol;
        take(place);
        trie_.states_[place].check = state;
        order_.emplace_back(child, static_cast<int32_t>(place));
      }
    }
    return {};
  }

  // ---- failure links ----

  int32_t child(int32_t state, uint32_t symbol) const {
    const size_t place =
        static_cast<size_t>(trie_.states_[static_cast<size_t>(state)].base()) + symbol;
    if (place >= trie_.states_.size() || trie_.states_[place].check != state) return kStuck;
    return static_cast<int32_t>(place);
  }

  // The list `pops` (kNothing: empty) with one more id.
  int32_t extended(int32_t pops, int32_t id) {
    if (pops == kNothing) return id;
    const int32_t count = pops >= 0 ? 1 : trie_.link(pops).count;
    trie_.chain_.push_back({pops, id, count + 1});
    return ~static_cast<int32_t>(trie_.chain_.size() - 1);
  }

  int32_t extended_by(int32_t pops, int32_t more) {
    if (pops == kNothing) return more;
    std::vector<int32_t> ids;
    for (; more < 0; more = trie_.link(more).previous) ids.push_back(trie_.link(more).id);
    ids.push_back(more);
    for (auto id = ids.rbegin(); id != ids.rend(); ++id) pops = extended(pops, *id);
    return pops;
  }

  // Failure of a state, from that of its parent, which comes earlier in breadth-first order.
  void link(uint32_t node_index, int32_t state) {
    if (state == kWordStart || state == kInsideWord) return;
    const Node& node = nodes_[node_index];
    const size_t place = static_cast<size_t>(state);
    if (node.id >= 0) {
      trie_.states_[place].packed |= 1;
      trie_.fails_[place] = kInsideWord;
      trie_.pops_[place] = node.id;
      return;
    }
    size_t passed = static_cast<size_t>(trie_.states_[place].check);
    int32_t pops = kNothing;
    for (int32_t from = trie_.fails_[passed]; from != kStuck; from = trie_.fails_[passed]) {
      pops = extended_by(pops, trie_.pops_[passed]);
      const int32_t next = child(from, node.symbol);
      if (next != kStuck) {
        trie_.fails_[place] = next;
        trie_.pops_[place] = pops;
        return;
      }
      passed = static_cast<size_t>(from);
    }
  }

  static constexpr size_t kEnd = static_cast<size_t>(-1);
  static constexpr int32_t kNothing = INT32_MIN;
  struct Free {
    size_t previous, next;
    bool free = true;
  };

  PieceTrie& trie_;
  std::vector<Node> nodes_;
  std::vector<std::pair<uint32_t, int32_t>> order_;  // node and state, breadth first
  std::vector<Free> links_;                          // free places as a list
  size_t first_free_ = kEnd, last_free_ = kEnd, first_place_ = 0;
};

Result<PieceTrie> PieceTrie::build(const std::vector<Piece>& pieces) {
  PieceTrie trie;
  HW_RETURN_IF_ERROR(Builder(trie).run(pieces));
  return trie;
}

int32_t* PieceTrie::emit_list(int32_t pops, int32_t* out) const {
  int32_t* const end = out + (pops >= 0 ? 1 : link(pops).count);
  int32_t* id = end;
  for (; pops < 0; pops = link(pops).previous) *--id = link(pops).id;
  *--id = pops;
  return end;
}

}  // namespace headwater
