#include "tokens/bpe_trainer.h"

#include <array>
#include <unordered_map>

#include "tokens/byte_alphabet.h"
#include "tokens/pair_joiner.h"

namespace headwater {
namespace {

constexpr int64_t kBytes = 256;

class Trainer {
 public:
  explicit Trainer(const BpeTrainerOptions& options)
      : options_(options), joiner_(options.min_frequency) {
    for (const uint8_t byte : bytes_in_alphabet_order())
      byte_ids_[byte] = add_token(bytes_to_alphabet(std::string(1, static_cast<char>(byte))));
  }

  void add_words(const std::vector<std::pair<std::string, int64_t>>& words) {
    for (const auto& [word, count] : words) {
      std::vector<int32_t> ids;
      for (const char byte : word) ids.push_back(byte_ids_[static_cast<uint8_t>(byte)]);
      joiner_.add(std::move(ids), count);
    }
  }

  TrainedBpe run(const std::function<void(int64_t)>& progress) {
    const int64_t target =
        options_.vocab_size - static_cast<int64_t>(options_.special_tokens.size());
    while (size() < target) {
      const auto pair = joiner_.next();
      if (!pair) break;
      const auto text = [&](int32_t id) { return tokens()[static_cast<size_t>(id)].first; };
      BpeParts::Merge merge{text(pair->left), text(pair->right)};
      joiner_.join(*pair, add_token(merge.left + merge.right));
      result_.parts.merges.push_back(std::move(merge));
      result_.last_frequency = pair->count;
      if (progress) progress(size());
    }
    for (const std::string& special : options_.special_tokens)
      result_.parts.added.push_back({special, add_token(special)});
    return std::move(result_);
  }

 private:
  std::vector<std::pair<std::string, int64_t>>& tokens() { return result_.parts.tokens; }
  int64_t size() { return static_cast<int64_t>(tokens().size()); }

  int32_t add_token(const std::string& token) {
    const auto [place, fresh] = ids_.try_emplace(token, static_cast<int32_t>(size()));
    if (fresh) tokens().emplace_back(token, place->second);
    return place->second;
  }

  const BpeTrainerOptions& options_;
  PairJoiner joiner_;
  std::array<int32_t, kBytes> byte_ids_{};
  std::unordered_map<std::string, int32_t> ids_;  // by token, as written in the files
  TrainedBpe result_;
};

}  // namespace

Result<TrainedBpe> train_bpe(const std::vector<std::pair<std::string, int64_t>>& words,
                             const BpeTrainerOptions& options,
                             const std::function<void(int64_t tokens)>& progress) {
  const int64_t least = kBytes + static_cast<int64_t>(options.special_tokens.size());
  if (options.vocab_size < least || options.vocab_size > BpeModel::kMaxTokens) {
    return fail_hint(Code::kInvalidArgument, "change --vocab-size",
                     "a byte-level BPE vocabulary of {} is not possible: 256 bytes and {} special "
                     "tokens need {}, and {} is the most",
                     options.vocab_size, options.special_tokens.size(), least,
                     BpeModel::kMaxTokens);
  }
  Trainer trainer(options);
  trainer.add_words(words);
  return trainer.run(progress);
}

}  // namespace headwater
