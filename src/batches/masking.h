// Which tokens of a row the generator must predict: ELECTRA's dynamic masking.
//
// Drawing (a pure function of a key) and applying (a pure function of the draws) are separate, so
// that recorded draws replay exactly (tests/golden/masking). Positions are drawn with replacement:
// a position may fill several slots and then counts as often. [CLS], [SEP], [MASK] and padding are
// never drawn; position 0 stands for an unused slot and is never written.
//
// Not here: the generator's samples and the corruption that they cause (that is the model's step).
#pragma once

#include <cstdint>
#include <span>

#include "base/threefry.h"

namespace headwater {

struct MaskingRule {
  double mask_prob = 0.15;       // share of a row's tokens, [CLS] and [SEP] counted
  int64_t max_predictions = 19;  // N, slots of a row
  double show_mask_prob = 0.85;  // share of slots that show [MASK]; the others keep their token
  int32_t cls = 2, sep = 3, mask = 4;
};

// Slots in use of a row with `tokens` real tokens (records/word_masking.h).
int64_t count_predictions(int64_t tokens, const MaskingRule& rule);

// The draws of a row; spans are [N]. Uses counters 0..2N-1 of `row_key`. Returns the number of
// slots in use; 0 when the row holds no token that may be drawn, and such a row then has no weight.
// input_ids, input_mask: [T].
int64_t draw_mask(std::span<const int32_t> input_ids, std::span<const int32_t> input_mask,
                  const MaskingRule& rule, Key row_key, std::span<int32_t> positions,
                  std::span<uint8_t> shows_mask);

struct MaskedRow {
  std::span<int32_t> masked_input_ids;     // [T] what the generator sees
  std::span<int32_t> masked_lm_positions;  // [N] 0 in an unused slot
  std::span<int32_t> masked_lm_ids;        // [N] the token that stood there, 0 in an unused slot
  std::span<float> masked_lm_weights;      // [N] 1, or 0 in an unused slot
};

// Applies given draws: the first `used` of `positions` and `shows_mask`, both [N].
void apply_mask(std::span<const int32_t> input_ids, int64_t used,
                std::span<const int32_t> positions, std::span<const uint8_t> shows_mask,
                int32_t mask_id, const MaskedRow& out);

}  // namespace headwater
