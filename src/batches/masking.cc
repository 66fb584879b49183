#include "batches/masking.h"

#include <algorithm>
#include <vector>

#include "records/word_masking.h"

namespace headwater {

int64_t count_predictions(int64_t tokens, const MaskingRule& rule) {
  return count_predictions(tokens, rule.mask_prob, rule.max_predictions);
}

int64_t draw_mask(std::span<const int32_t> input_ids, std::span<const int32_t> input_mask,
                  const MaskingRule& rule, Key row_key, std::span<int32_t> positions,
                  std::span<uint8_t> shows_mask) {
  thread_local std::vector<int32_t> candidates;
  candidates.clear();
  int64_t tokens = 0;
  for (size_t t = 0; t < input_ids.size(); ++t) {
    if (input_mask[t] == 0) continue;
    ++tokens;
    const int32_t id = input_ids[t];
    if (id != rule.cls && id != rule.sep && id != rule.mask)
      candidates.push_back(static_cast<int32_t>(t));
  }
  if (candidates.empty()) return 0;
  const int64_t used = count_predictions(tokens, rule);
  for (int64_t slot = 0; slot < used; ++slot) {
    const auto counter = static_cast<uint64_t>(slot);
    positions[slot] = candidates[row_key.below(counter, candidates.size())];
    shows_mask[slot] = row_key.uniform(counter + static_cast<uint64_t>(rule.max_predictions)) <
                       static_cast<float>(rule.show_mask_prob);
  }
  return used;
}

void apply_mask(std::span<const int32_t> input_ids, int64_t used,
                std::span<const int32_t> positions, std::span<const uint8_t> shows_mask,
                int32_t mask_id, const MaskedRow& out) {
  std::copy(input_ids.begin(), input_ids.end(), out.masked_input_ids.begin());
  for (size_t slot = 0; slot < out.masked_lm_positions.size(); ++slot) {
    const bool in_use = static_cast<int64_t>(slot) < used;
    const int32_t position = in_use ? positions[slot] : 0;
    out.masked_lm_positions[slot] = position;
    out.masked_lm_ids[slot] = in_use ? input_ids[position] : 0;
    out.masked_lm_weights[slot] = in_use ? 1.0f : 0.0f;
    if (position != 0 && shows_mask[slot] != 0) out.masked_input_ids[position] = mask_id;
  }
}

}  // namespace headwater
