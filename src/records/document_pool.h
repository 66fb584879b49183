// Tokenised documents of a build's present and last round: what pairs of sentences are made of, and
// where random next sentences come from. Memory is bounded by the rounds, so that a "random
// document" is one of some ten megabytes of text around the document.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/threefry.h"

namespace headwater {

// Sentences of one document, or of a part of it when it is very long; none is empty.
struct TokenizedDocument {
  int64_t file = 0, number = 0, part = 0;  // file in the sorted list, document in the file
  std::vector<int32_t> ids = {};           // back to back
  std::vector<size_t> ends = {};           // of each sentence in ids

  size_t sentences() const { return ends.size(); }
  size_t begin_of(size_t sentence) const { return sentence == 0 ? 0 : ends[sentence - 1]; }
  std::span<const int32_t> sentence(size_t i) const { return range(i, i + 1); }
  std::span<const int32_t> range(size_t first, size_t last) const;  // sentences [first, last)
};

class DocumentPool {
 public:
  // A round's documents replace those of the last round but one.
  void next_round();
  // One lane's; lane i of the round is the i-th call.
  void add(std::vector<TokenizedDocument> documents);
  std::span<const TokenizedDocument> of_lane(size_t lane) const { return present_[lane]; }

  // A document that is not the one `document` belongs to, all others equally likely; null when
  // there is none.
  const TokenizedDocument* other(const TokenizedDocument& document, RandomStream& random) const;

 private:
  using Round = std::vector<std::vector<TokenizedDocument>>;  // by lane
  Round present_, last_;
  std::vector<const TokenizedDocument*> all_;
};

}  // namespace headwater
