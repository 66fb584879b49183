// Greedy longest-match-first over the pieces of a vocabulary, in time linear in the word: a trie
// with failure links that carry the tokens to be emitted (Song, Salcianu, Song, Dopson, Zhou: "Fast
// WordPiece Tokenization", EMNLP 2021, section 3), stored as a double array over whole code points.
//
// Code points of the pieces are numbered as symbols 1, 2, ...; a character outside this alphabet
// makes its word unknown before any state is looked at.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "text/code_point_map.h"

namespace headwater {

class PieceTrie {
 public:
  struct Piece {
    std::u32string text;        // without "##"; not empty
    bool continuation = false;  // written with "##": stands inside a word
    int32_t id = 0;
  };
  // Pieces of one kind with the same text: the last one counts.
  static Result<PieceTrie> build(const std::vector<Piece>& pieces);

  static constexpr int32_t kWordStart = 0;  // state before the first symbol of a word
  static constexpr int32_t kStuck = -1;     // no split of the word exists

  // The number of a code point, or 0 when no piece holds it. Small numbers are in many pieces,
  // which keeps the states that are visited most close together.
  uint32_t symbol(char32_t code_point) const { return symbols_[code_point]; }
  const std::u32string& alphabet() const { return alphabet_; }  // symbol s is [s - 1]

  // Consumes a symbol (not 0): writes the tokens that are now certain to `out` and returns the next
  // state. A word writes at most as many tokens as it has symbols.
  int32_t step(int32_t state, uint32_t symbol, int32_t*& out) const {
    const State* const states = states_.data();
    while (true) {
      const State s = states[state];
      const int32_t next = s.base() + static_cast<int32_t>(symbol);
      if (states[next].check == state) return next;
      if (!fall_back(s, state, out)) return kStuck;
    }
  }

  // Ends the word: writes the rest of its tokens. False when there is no split.
  bool finish(int32_t state, int32_t*& out) const {
    if (state == kStuck) return false;
    while (state != kInsideWord)
      if (!fall_back(states_[static_cast<size_t>(state)], state, out)) return false;
    return true;
  }

 private:
  static constexpr int32_t kInsideWord = 1;  // state behind a complete token

  // Eight bytes, because the walk is bound by cache misses on them.
  struct State {
    uint32_t packed = 0;  // base << 1 | a token ends here
    int32_t check = -1;   // parent; -1: free
    // The child over symbol s is base + s, if its check names this state.
    int32_t base() const { return static_cast<int32_t>(packed >> 1); }
    bool is_token() const { return (packed & 1) != 0; }
  };
  // Lists that share their fronts, so that all of them together stay linear in the vocabulary.
  struct Link {
    int32_t previous;  // as an entry of pops_
    int32_t id;
    int32_t count;  // of the whole list
  };
  class Builder;

  // Writes the tokens that are certain when `state` has no child to go on with, and goes to where
  // the rest of what was read stands. Nearly always one token ends in the state itself.
  bool fall_back(State s, int32_t& state, int32_t*& out) const {
    const size_t place = static_cast<size_t>(state);
    if (s.is_token()) [[likely]] {
      *out++ = pops_[place];
      state = kInsideWord;
      return true;
    }
    if (fails_[place] == kStuck) return false;
    out = emit_list(pops_[place], out);
    state = fails_[place];
    return true;
  }
  int32_t* emit_list(int32_t pops, int32_t* out) const;

  std::u32string alphabet_;
  CodePointMap<uint32_t> symbols_{0};
  std::vector<State> states_;
  std::vector<int32_t> fails_;  // by state: where to go on when no child fits
  std::vector<int32_t> pops_;   // by state: tokens on that way, an id, or ~index into chain_
  std::vector<Link> chain_;
  const Link& link(int32_t pops) const {  // of a list, which is negative
    const int32_t index = ~pops;
    return chain_[static_cast<size_t>(index)];
  }
};

}  // namespace headwater
