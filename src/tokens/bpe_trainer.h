// A byte-level BPE model from word counts: start from the 256 bytes, join the most frequent pair of
// neighbouring tokens, repeat; the same merges as Hugging Face's BpeTrainer. Deterministic: ties go
// to the pair of the older tokens (pair_joiner.h), the bytes in the order of their alphabet.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "tokens/bpe_model.h"

namespace headwater {

struct BpeTrainerOptions {
  int64_t vocab_size = 32000;  // bytes, merged and special tokens together
  int64_t min_frequency = 2;   // of a pair that is merged
  std::vector<std::string> special_tokens = {std::string(BpeModel::kEndOfText)};  // the last ids
};

struct TrainedBpe {
  BpeParts parts;              // bytes, merged tokens, special tokens: GPT-2's order
  int64_t last_frequency = 0;  // of the pair merged last
};

// `words` are distinct byte strings in a fixed order (WordCounts with byte_level). `progress` is
// told the number of tokens now and then. Fails when bytes and special tokens do not fit into
// vocab_size.
Result<TrainedBpe> train_bpe(const std::vector<std::pair<std::string, int64_t>>& words,
                             const BpeTrainerOptions& options,
                             const std::function<void(int64_t tokens)>& progress = {});

}  // namespace headwater
