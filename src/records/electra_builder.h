// Text to ELECTRA pre-training examples: google-research/electra's builder, draw for draw.
//
// A builder gathers tokenised sentences of one file until a target length is reached (or the
// document ends) and makes one example of them: one or two segments, cut to fit. Random decisions
// come from outside, so that recorded draws replay exactly (tests/golden/builder) and a build is a
// pure function of its seed. Nothing is masked here: masks are drawn anew for every step
// (batches/masking.h).
//
// Not here: reading, tokenising, features (records/electra_examples.h), shards.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/threefry.h"

namespace headwater {

// The two kinds of random calls that the builder makes.
struct ElectraDraws {
  std::function<double()> uniform;                                      // in [0, 1)
  std::function<int64_t(int64_t first, int64_t last)> integer_between;  // both ends included
};

// Draws of a counter-based stream: the n-th draw under a key is always the same.
ElectraDraws threefry_draws(Key key);

// [CLS] A [SEP], or [CLS] A [SEP] B [SEP]; not padded.
struct ElectraExample {
  std::vector<int32_t> input_ids;
  int64_t first_segment = 0;  // tokens of segment 0: up to and including the first [SEP]
  int64_t lost_tokens = 0;    // cut off, and in no other example

  void clear() { input_ids.clear(), first_segment = 0, lost_tokens = 0; }
};

class ElectraExampleBuilder {
 public:
  // max_seq_length >= 5; cls and sep are the ids of [CLS] and [SEP].
  ElectraExampleBuilder(int64_t max_seq_length, int32_t cls, int32_t sep, ElectraDraws draws);

  // A sentence's tokens. True when that completed an example, which `out` then holds.
  bool add_sentence(std::span<const int32_t> ids, ElectraExample& out);
  // The end of a document or file: true when sentences were pending; `out` then holds the example.
  bool end_document(ElectraExample& out);

 private:
  void create_example(ElectraExample& out);

  int64_t max_length_, target_length_;
  int32_t cls_, sep_;
  ElectraDraws draws_;
  std::vector<int32_t> tokens_;          // of the pending sentences, back to back
  std::vector<size_t> ends_;             // of each sentence in tokens_
  std::vector<int32_t> first_, second_;  // scratch of create_example
};

}  // namespace headwater
