// What the tests of byte-level BPE share: a small model, GPT-2's where the fixtures are, and a
// plain way to merge.
#pragma once

#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tokens/bpe_tokenizer.h"
#include "tokens/byte_alphabet.h"
#include "tokens/fixtures.h"

namespace headwater {

// The 256 bytes, then what the merges make, then <|endoftext|>.
inline BpeParts parts_of(const std::vector<std::pair<std::string, std::string>>& merges) {
  BpeParts parts;
  for (const uint8_t byte : bytes_in_alphabet_order()) {
    const auto id = static_cast<int64_t>(parts.tokens.size());
    parts.tokens.emplace_back(bytes_to_alphabet(std::string(1, static_cast<char>(byte))), id);
  }
  std::map<std::string, int64_t> known(parts.tokens.begin(), parts.tokens.end());
  for (const auto& [left, right] : merges) {
    const auto id = static_cast<int64_t>(parts.tokens.size());
    if (known.emplace(left + right, id).second) parts.tokens.emplace_back(left + right, id);
    parts.merges.push_back({left, right});
  }
  const std::string end(BpeModel::kEndOfText);
  const auto id = static_cast<int32_t>(parts.tokens.size());
  parts.tokens.emplace_back(end, id);
  parts.added.push_back({end, id});
  return parts;
}

inline BpeModel must_make(const BpeParts& parts) {
  auto model = BpeModel::from_parts(parts, "vocab", "merges");
  if (!model) throw std::runtime_error(model.error().to_string());
  return *std::move(model);
}

inline BpeModel mini_bpe() {
  return must_make(parts_of({{"h", "e"},
                             {"l", "l"},
                             {"he", "ll"},
                             {"hell", "o"},
                             {"Ġ", "w"},
                             {"Ġ", "hello"},
                             {"ì", "ķ"},
                             {"ìķ", "Ī"}}));
}

inline BpeTokenizer must_create(BpeModel model, TokenizerOptions options = {}) {
  auto tokenizer = BpeTokenizer::create(std::move(model), std::move(options));
  if (!tokenizer) throw std::runtime_error(tokenizer.error().to_string());
  return *std::move(tokenizer);
}

inline const std::string kGpt2Folder = "fixtures/tokenizers/vocabs/gpt2/";

inline BpeModel gpt2_model() {
  auto model = BpeModel::load(local_files(), shared_path(kGpt2Folder + "encoder.json"),
                              shared_path(kGpt2Folder + "vocab.bpe"));
  if (!model) throw std::runtime_error(model.error().to_string());
  return *std::move(model);
}

inline std::vector<int32_t> ids_of(const BpeTokenizer& tokenizer, std::string_view text) {
  std::vector<int32_t> ids;
  tokenizer.append_ids(text, ids);
  return ids;
}

// Merges one pair at a time, looking at all of them each time.
class PlainMerger {
 public:
  explicit PlainMerger(const BpeModel& model) : model_(model) {
    for (size_t rank = 0; rank < model.merges().size(); ++rank)
      ranks_[{model.merges()[rank].left, model.merges()[rank].right}] = rank;
  }

  std::vector<int32_t> merge(std::string_view word) const {
    constexpr size_t kNone = std::numeric_limits<size_t>::max();
    std::vector<int32_t> ids;
    for (const char c : word) ids.push_back(model_.byte_ids()[static_cast<uint8_t>(c)]);
    while (true) {
      size_t best = kNone, place = 0;
      for (size_t i = 0; i + 1 < ids.size(); ++i) {
        const auto found = ranks_.find({ids[i], ids[i + 1]});
        if (found != ranks_.end() && found->second < best) best = found->second, place = i;
      }
      if (best == kNone) return ids;
      ids[place] = model_.merges()[best].joined;
      ids.erase(ids.begin() + static_cast<ptrdiff_t>(place) + 1);
    }
  }

 private:
  const BpeModel& model_;
  std::map<std::pair<int32_t, int32_t>, size_t> ranks_;
};

}  // namespace headwater
