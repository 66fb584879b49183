// Documents to pairs of segments by the rules of google-research/bert's create_pretraining_data:
// next-sentence prediction, where half of the second segments come from another document (Devlin
// et al. 2019, section 3.1), or ALBERT's sentence order, where half of the pairs are swapped (Lan
// et al. 2020, section 3.1).
//
// Sentences are gathered until a target length is reached, and cut into A and B at a random place.
// Where B is replaced, the sentences it would have had begin the next pair. What is too long loses
// tokens at the front or the end of the longer segment.
//
// Not here: masks, padding (bert_examples.h).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/threefry.h"
#include "records/document_pool.h"

namespace headwater {

// [CLS] A [SEP], or [CLS] A [SEP] B [SEP]; not padded.
struct SegmentExample {
  std::vector<int32_t> input_ids = {};
  int64_t first_segment = 0;       // tokens of segment 0: up to and including its [SEP]
  std::optional<bool> label = {};  // of a pair: B is random, or the order is swapped
  bool same_document = false;      // B is "random" from A's own document, as there was no other
  int64_t lost_tokens = 0;         // cut off, and in no other example
};

struct PairRules {
  int64_t max_seq_length = 128;  // at least 5
  double short_seq_prob = 0.1;   // share of documents whose pairs have a shorter target length
  bool sentence_order = false;
  int32_t cls = 0, sep = 0;
};

class PairBuilder {
 public:
  using Emit = std::function<void(const SegmentExample& example)>;

  PairBuilder(const PairRules& rules, const DocumentPool& pool) : rules_(rules), pool_(pool) {}

  // The pairs of one document, in order.
  void make(const TokenizedDocument& document, RandomStream& random, const Emit& emit);

 private:
  struct Segment {
    std::span<const int32_t> ids;
    bool own = true;  // of the document: what is cut off is lost
  };
  int64_t draw_target(RandomStream& random) const;
  // A pair of the sentences [first, last); returns the first that it did not take.
  size_t make_pair(const TokenizedDocument& document, size_t first, size_t last, int64_t target,
                   RandomStream& random, const Emit& emit);
  Segment random_segment(const TokenizedDocument& document, int64_t target, RandomStream& random);
  void truncate(Segment& a, Segment& b, RandomStream& random);
  void emit_pair(Segment a, Segment b, bool label, RandomStream& random, const Emit& emit);

  PairRules rules_;
  const DocumentPool& pool_;
  SegmentExample example_;
};

}  // namespace headwater
