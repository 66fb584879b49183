#include "tokens/vocab_trainer.h"

#include <algorithm>
#include <map>
#include <queue>
#include <string_view>
#include <unordered_map>

#include "text/utf8.h"

namespace headwater {
namespace {

constexpr int64_t kDefaultAlphabet = 6000;
constexpr std::string_view kPrefix = "##";

using WordList = std::vector<std::pair<std::string, int64_t>>;

struct Character {
  char32_t code_point = 0;
  int64_t count = 0;
  bool inside = false;  // seen inside a word, so that it needs a ## piece too
  int64_t pieces() const { return inside ? 2 : 1; }
};

// All characters of the words, the most frequent first.
std::vector<Character> count_characters(const WordList& words) {
  std::map<char32_t, Character> found;
  for (const auto& [word, count] : words) {
    for (size_t i = 0; i < word.size();) {
      const bool inside = i > 0;
      const char32_t c = decode_utf8(word, i);
      Character& entry = found[c];
      entry.code_point = c;
      entry.count += count;
      entry.inside |= inside;
    }
  }
  std::vector<Character> characters;
  for (const auto& [c, entry] : found) characters.push_back(entry);
  std::stable_sort(characters.begin(), characters.end(),
                   [](const Character& a, const Character& b) { return a.count > b.count; });
  return characters;
}

class Trainer {
 public:
  Trainer(const WordList& words, const VocabTrainerOptions& options,
          const std::function<void(int64_t)>& progress)
      : words_(words), options_(options), progress_(progress) {}

  Result<TrainedVocabulary> run() {
    HW_RETURN_IF_ERROR(choose_alphabet());
    split_words();
    for (uint32_t word = 0; word < sequences_.size(); ++word) add_pairs(word, 1);
    for (uint32_t pair = 0; pair < pairs_.size(); ++pair) push(pair);
    join_pairs();
    for (int64_t i = 0; i < options_.num_unused; ++i)
      tokens_.push_back(fmt::format("[unused{}]", i));
    result_.tokens = std::move(tokens_);
    return std::move(result_);
  }

 private:
  // A word as the pieces it consists of now.
  struct Sequence {
    std::vector<int32_t> pieces;
    int64_t count;
  };
  struct Pair {
    int32_t left, right;
    int64_t count = 0;
    std::vector<uint32_t> sequences = {};  // where it occurs, or did once
  };
  // A claim that `pair` occurs `count` times; stale when it no longer does.
  struct Candidate {
    int64_t count;
    int32_t left, right;
    uint32_t pair;
    bool operator<(const Candidate& o) const {  // the top of the heap is the largest
      if (count != o.count) return count < o.count;
      return left != o.left ? left > o.left : right > o.right;
    }
  };

  int32_t add_token(std::string token) {
    const auto [place, fresh] = ids_.try_emplace(token, static_cast<int32_t>(tokens_.size()));
    if (fresh) tokens_.push_back(std::move(token));
    return place->second;
  }

  Result<> choose_alphabet() {
    std::vector<Character> characters = count_characters(words_);
    int64_t total = 0, covered = 0, pieces = 0;
    for (const Character& c : characters) total += c.count;
    result_.all_characters = static_cast<int64_t>(characters.size());
    const int64_t fixed =
        static_cast<int64_t>(options_.special_tokens.size()) + options_.num_unused;
    const int64_t free = options_.vocab_size - fixed;
    const size_t limit = static_cast<size_t>(options_.limit_alphabet.value_or(kDefaultAlphabet));
    size_t kept = 0;
    for (; kept < std::min(limit, characters.size()); ++kept) {
      if (!options_.limit_alphabet && pieces + characters[kept].pieces() > free / 2) break;
      pieces += characters[kept].pieces();
      covered += characters[kept].count;
    }
    if (pieces > free || free < 0) {
      return fail_hint(
          Code::kInvalidArgument, "raise --vocab-size or lower --limit-alphabet",
          "a vocabulary of {} cannot hold {} special and unused tokens and {} pieces of "
          "{} characters",
          options_.vocab_size, fixed, pieces, kept);
    }
    characters.resize(kept);
    result_.alphabet = static_cast<int64_t>(kept);
    result_.coverage = total == 0 ? 0 : static_cast<double>(covered) / static_cast<double>(total);
    std::sort(characters.begin(), characters.end(),
              [](const Character& a, const Character& b) { return a.code_point < b.code_point; });
    for (const std::string& token : options_.special_tokens) add_token(token);
    for (const Character& c : characters) first_[c.code_point] = add_token(text_of(c));
    for (const Character& c : characters)
      if (c.inside) inside_[c.code_point] = add_token(std::string(kPrefix) + text_of(c));
    return {};
  }

  static std::string text_of(const Character& c) {
    std::string text;
    append_utf8(c.code_point, text);
    return text;
  }

  // Characters outside the alphabet cut a word; what stands behind one is still inside the word.
  void split_words() {
    for (const auto& [word, count] : words_) {
      Sequence sequence{{}, count};
      const auto finish = [&] {
        if (sequence.pieces.size() > 1) sequences_.push_back(sequence);
        sequence.pieces.clear();
      };
      for (size_t i = 0; i < word.size();) {
        const auto& pieces = i == 0 ? first_ : inside_;
        const auto piece = pieces.find(decode_utf8(word, i));
        if (piece == pieces.end()) {
          finish();
        } else {
          sequence.pieces.push_back(piece->second);
        }
      }
      finish();
    }
  }

  uint32_t pair_index(int32_t left, int32_t right) {
    const uint64_t key =
        (static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32) | static_cast<uint32_t>(right);
    const auto [place, fresh] =
        pair_indices_.try_emplace(key, static_cast<uint32_t>(pairs_.size()));
    if (fresh) pairs_.push_back({left, right});
    return place->second;
  }

  // Adds (sign 1) or takes away (-1) the pairs of a sequence.
  void add_pairs(uint32_t index, int sign) {
    const Sequence& sequence = sequences_[index];
    for (size_t i = 1; i < sequence.pieces.size(); ++i) {
      Pair& pair = pairs_[pair_index(sequence.pieces[i - 1], sequence.pieces[i])];
      pair.count += sign * sequence.count;
      if (sign > 0 && (pair.sequences.empty() || pair.sequences.back() != index))
        pair.sequences.push_back(index);
    }
  }

  void push(uint32_t index) {
    const Pair& pair = pairs_[index];
    if (pair.count >= std::max<int64_t>(options_.min_frequency, 1))
      candidates_.push({pair.count, pair.left, pair.right, index});
  }

  void join_pairs() {
    const int64_t target = options_.vocab_size - options_.num_unused;
    while (static_cast<int64_t>(tokens_.size()) < target && !candidates_.empty()) {
      const Candidate best = candidates_.top();
      candidates_.pop();
      if (pairs_[best.pair].count != best.count) {
        push(best.pair);  // counts only fall between visits, so this keeps the order
        continue;
      }
      const size_t before = tokens_.size();
      join(best.pair);
      if (tokens_.size() > before) {
        ++result_.joined;
        result_.last_frequency = best.count;
        if (progress_) progress_(static_cast<int64_t>(tokens_.size()));
      }
    }
  }

  void join(uint32_t index) {
    const int32_t left = pairs_[index].left, right = pairs_[index].right;
    const std::string_view behind = std::string_view(tokens_[static_cast<size_t>(right)]);
    const int32_t joined =
        add_token(tokens_[static_cast<size_t>(left)] + std::string(behind.substr(kPrefix.size())));
    const std::vector<uint32_t> places = std::move(pairs_[index].sequences);
    const size_t first_new = pairs_.size();
    std::vector<uint32_t> grown;  // older pairs that gained; only when `joined` existed before
    for (const uint32_t place : places) {
      add_pairs(place, -1);
      std::vector<int32_t>& pieces = sequences_[place].pieces;
      size_t out = 0;
      for (size_t i = 0; i < pieces.size(); ++i) {
        const bool here = pieces[i] == left && i + 1 < pieces.size() && pieces[i + 1] == right;
        pieces[out++] = here ? joined : pieces[i];
        i += here ? 1 : 0;
      }
      pieces.resize(out);
      add_pairs(place, 1);
      for (size_t i = 1; i < pieces.size(); ++i) {
        if (pieces[i - 1] != joined && pieces[i] != joined) continue;
        const uint32_t pair = pair_index(pieces[i - 1], pieces[i]);
        if (pair < first_new) grown.push_back(pair);
      }
    }
    std::sort(grown.begin(), grown.end());
    grown.erase(std::unique(grown.begin(), grown.end()), grown.end());
    for (const uint32_t pair : grown) push(pair);
    for (size_t pair = first_new; pair < pairs_.size(); ++pair) push(static_cast<uint32_t>(pair));
  }

  const WordList& words_;
  const VocabTrainerOptions& options_;
  const std::function<void(int64_t)>& progress_;
  TrainedVocabulary result_;
  std::vector<std::string> tokens_;
  std::unordered_map<std::string, int32_t> ids_;
  std::unordered_map<char32_t, int32_t> first_, inside_;  // pieces of single characters
  std::vector<Sequence> sequences_;
  std::vector<Pair> pairs_;
  std::unordered_map<uint64_t, uint32_t> pair_indices_;
  std::priority_queue<Candidate> candidates_;
};

}  // namespace

Result<TrainedVocabulary> train_vocabulary(const WordList& words,
                                           const VocabTrainerOptions& options,
                                           const std::function<void(int64_t)>& progress) {
  return Trainer(words, options, progress).run();
}

}  // namespace headwater
