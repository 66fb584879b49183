// From the logits of the next token to a token: the processors of transformers'
// generation/logits_process.py, in the order in which it applies them, and the draw. Pure functions
// of host memory; what makes logits is generate/generator.h.
#pragma once

#include <cstdint>
#include <span>

#include "base/described.h"
#include "base/threefry.h"

namespace headwater {

// Defaults change nothing; a temperature of 0 takes the most likely token (and so does one that
// could make a logit infinite).
struct SamplingOptions {
  double temperature = 0;
  int64_t top_k = 0;
  double top_p = 1;
  double repetition_penalty = 1;

  bool greedy() const { return temperature < 1e-6; }
  void describe(Fields& f);
};

// Of every token that occurs in `tokens`, however often: positive logits are divided by the
// penalty, negative ones multiplied (Keskar et al. 2019, section 4.1).
void apply_repetition_penalty(std::span<float> logits, std::span<const int32_t> tokens,
                              double penalty);
void apply_temperature(std::span<float> logits, double temperature);  // over 0
// Tokens under the k-th largest logit become impossible (minus infinity): those equal to it stay
// (Fan et al. 2018).
void keep_top_k(std::span<float> logits, int64_t k);
// The most likely tokens stay whose probabilities add up to p, one at least; among equals those
// with a larger id (Holtzman et al. 2020; which of equals transformers keeps is left to its sort).
void keep_top_p(std::span<float> logits, double p);

// The lowest id with the largest logit.
int32_t most_likely(std::span<const float> logits);
// The token at which the probabilities of the softmax, added up by id, pass u in [0, 1).
int32_t token_at(std::span<const float> logits, double u);
// 53 random bits of element `index`, in [0, 1).
double uniform_double(Key key, uint64_t index);

// Whether there is a largest logit: false where some are no numbers, or none is finite.
bool has_choice(std::span<const float> logits);

// All of it: the token that follows `tokens`, number `index` of its sequence. Changes the logits,
// which must have a choice. The key is the sequence's.
int32_t choose_token(std::span<float> logits, std::span<const int32_t> tokens,
                     const SamplingOptions& options, Key key, uint64_t index);

}  // namespace headwater
