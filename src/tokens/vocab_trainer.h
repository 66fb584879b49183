// A WordPiece vocabulary from word counts: start from single characters, join the most frequent
// pair of neighbouring pieces, repeat (as Hugging Face's WordPieceTrainer; Sennrich et al. 2016,
// section 3.2). Deterministic: ties go to the pair of the older pieces (pair_joiner.h).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace headwater {

struct VocabTrainerOptions {
  int64_t vocab_size = 32000;  // lines of the file, special and unused slots included
  // Most frequent characters that get pieces. Unset: 6,000, or fewer so that at least half of the
  // free slots are left for longer pieces.
  std::optional<int64_t> limit_alphabet;
  int64_t min_frequency = 2;  // of a pair that is joined
  int64_t num_unused = 0;     // [unused0], [unused1], ... at the end, to be given a meaning later
  std::vector<std::string> special_tokens = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
};

struct TrainedVocabulary {
  std::vector<std::string> tokens;  // specials, characters, ##characters, joined pieces, unused
  int64_t alphabet = 0;             // characters that have a piece
  int64_t all_characters = 0;       // characters seen
  double coverage = 0;              // share of the text's characters that are in the alphabet
  int64_t joined = 0;               // pieces made by joining
  int64_t last_frequency = 0;       // of the pair joined last
};

// `words` are distinct, not empty, in a fixed order. `progress` is told the number of tokens now
// and then. Fails when the fixed slots and the alphabet do not fit into vocab_size.
Result<TrainedVocabulary> train_vocabulary(
    const std::vector<std::pair<std::string, int64_t>>& words, const VocabTrainerOptions& options,
    const std::function<void(int64_t tokens)>& progress = {});

}  // namespace headwater
