#include "tokens/vocab_trainer.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>

#include "text/utf8.h"
#include "tokens/pair_joiner.h"

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
  characters.reserve(found.size());
  for (const auto& [c, entry] : found) characters.push_back(entry);
  std::stable_sort(characters.begin(), characters.end(),
                   [](const Character& a, const Character& b) { return a.count > b.count; });
  return characters;
}

class Trainer {
 public:
  Trainer(const WordList& words, const VocabTrainerOptions& options,
          const std::function<void(int64_t)>& progress)
      : words_(words), options_(options), progress_(progress), joiner_(options.min_frequency) {}

  Result<TrainedVocabulary> run() {
    HW_RETURN_IF_ERROR(choose_alphabet());
    split_words();
    join_pairs();
    for (int64_t i = 0; i < options_.num_unused; ++i)
      tokens_.push_back(fmt::format("[unused{}]", i));
    result_.tokens = std::move(tokens_);
    return std::move(result_);
  }

 private:
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
      std::vector<int32_t> sequence;
      const auto finish = [&, times = count] {
        joiner_.add(std::move(sequence), times);
        sequence.clear();
      };
      for (size_t i = 0; i < word.size();) {
        const auto& pieces = i == 0 ? first_ : inside_;
        const auto piece = pieces.find(decode_utf8(word, i));
        if (piece == pieces.end()) {
          finish();
        } else {
          sequence.push_back(piece->second);
        }
      }
      finish();
    }
  }

  void join_pairs() {
    const int64_t target = options_.vocab_size - options_.num_unused;
    while (static_cast<int64_t>(tokens_.size()) < target) {
      const auto pair = joiner_.next();
      if (!pair) break;
      const size_t before = tokens_.size();
      const auto text = [this](int32_t id) { return tokens_[static_cast<size_t>(id)]; };
      joiner_.join(*pair, add_token(text(pair->left) + text(pair->right).substr(kPrefix.size())));
      if (tokens_.size() > before) {
        ++result_.joined;
        result_.last_frequency = pair->count;
        if (progress_) progress_(static_cast<int64_t>(tokens_.size()));
      }
    }
  }

  const WordList& words_;
  const VocabTrainerOptions& options_;
  const std::function<void(int64_t)>& progress_;
  TrainedVocabulary result_;
  std::vector<std::string> tokens_;
  std::unordered_map<std::string, int32_t> ids_;
  std::unordered_map<char32_t, int32_t> first_, inside_;  // pieces of single characters
  PairJoiner joiner_;
};

}  // namespace

Result<TrainedVocabulary> train_vocabulary(const WordList& words,
                                           const VocabTrainerOptions& options,
                                           const std::function<void(int64_t)>& progress) {
  return Trainer(words, options, progress).run();
}

}  // namespace headwater
