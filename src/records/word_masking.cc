#include "records/word_masking.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace headwater {
namespace {

constexpr std::string_view kContinuation = "##";
constexpr size_t kMostPieces = 32;  // of a listed word
constexpr int64_t kWordListLimit = int64_t{256} << 20;
constexpr int32_t kIgnored = -100;

using Unit = std::pair<int32_t, int32_t>;  // tokens [first, second)

// What may be drawn: words, or single tokens, that hold no special token.
void find_units(std::span<const int32_t> ids, std::span<const int32_t> mask,
                const WordMaskingRule& rule, std::vector<Unit>& units) {
  thread_local std::vector<uint8_t> starts;
  if (rule.whole_words != nullptr) rule.whole_words->find(ids, starts);
  units.clear();
  bool open = false;  // the last unit ends where the token before did
  for (size_t t = 0; t < ids.size(); ++t) {
    if (mask[t] == 0 || std::ranges::find(rule.never, ids[t]) != rule.never.end()) {
      open = false;
      continue;
    }
    const auto at = static_cast<int32_t>(t);
    if (open && rule.whole_words != nullptr && starts[t] == 0) units.back().second = at + 1;
    else units.emplace_back(at, at + 1);
    open = true;
  }
}

// Units in random order, as many as fit into `count` tokens; at least one that fits the slots.
void draw_units(std::vector<Unit>& units, int64_t count, int64_t max_predictions,
                RandomStream& random, std::vector<int32_t>& positions) {
  positions.clear();
  const auto take = [&](const Unit& unit) {
    for (int32_t t = unit.first; t < unit.second; ++t) positions.push_back(t);
  };
  for (size_t i = 0; i < units.size() && static_cast<int64_t>(positions.size()) < count; ++i) {
    std::swap(units[i], units[i + random.below(units.size() - i)]);
    const int64_t size = units[i].second - units[i].first;
    if (static_cast<int64_t>(positions.size()) + size <= count) take(units[i]);
  }
  if (!positions.empty()) return;
  const auto fits = std::ranges::find_if(
      units, [&](const Unit& unit) { return unit.second - unit.first <= max_predictions; });
  if (fits != units.end()) take(*fits);
}

}  // namespace

WordBounds::WordBounds(std::span<const std::string> tokens, std::unordered_set<std::string> words)
    : words_(std::move(words)) {
  continues_.reserve(tokens.size());
  for (const std::string& token : tokens) {
    const bool continues = token.starts_with(kContinuation) && token.size() > kContinuation.size();
    continues_.push_back(continues ? 1 : 0);
    if (!words_.empty()) texts_.push_back(continues ? token.substr(kContinuation.size()) : token);
  }
}

WordBounds WordBounds::of(const AnyTokenizer& tokenizer) {
  WordBounds bounds;
  for (int64_t id = 0; id < tokenizer.size(); ++id)
    bounds.continues_.push_back(tokenizer.starts_word(id) ? 0 : 1);
  return bounds;
}

Result<std::unordered_set<std::string>> WordBounds::read_words(FileSystem& fs,
                                                               const std::string& path) {
  HW_ASSIGN_OR_RETURN(const std::string text, read_file(fs, path, kWordListLimit));
  std::unordered_set<std::string> words;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = std::string_view(text).substr(begin, end - begin);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) words.emplace(line);
    begin = end + 1;
  }
  if (words.empty()) return fail(Code::kInvalidArgument, "{} holds no word", path);
  return words;
}

bool WordBounds::continues(int32_t id) const {
  return id >= 0 && static_cast<size_t>(id) < continues_.size() &&
         continues_[static_cast<size_t>(id)] != 0;
}

void WordBounds::find(std::span<const int32_t> ids, std::vector<uint8_t>& starts) const {
  starts.resize(ids.size());
  for (size_t t = 0; t < ids.size(); ++t) starts[t] = continues(ids[t]) ? 0 : 1;
  if (words_.empty()) return;
  for (size_t begin = 0; begin < ids.size();) {
    size_t end = begin + 1;
    while (end < ids.size() && starts[end] == 0) ++end;
    split_by_words(ids.subspan(begin, end - begin), std::span(starts).subspan(begin, end - begin));
    begin = end;
  }
}

void WordBounds::split_by_words(std::span<const int32_t> word, std::span<uint8_t> starts) const {
  for (size_t t = 0; t < word.size();) {
    const size_t size = listed_prefix(word.subspan(t));
    if (size > 0) starts[t] = 1;
    t += std::max<size_t>(size, 1);
    if (size > 0 && t < word.size()) starts[t] = 1;
  }
}

size_t WordBounds::listed_prefix(std::span<const int32_t> word) const {
  std::string text;
  size_t longest = 0;
  for (size_t t = 0; t < std::min(word.size(), kMostPieces); ++t) {
    if (word[t] < 0 || static_cast<size_t>(word[t]) >= texts_.size()) break;
    text += texts_[static_cast<size_t>(word[t])];
    if (words_.contains(text)) longest = t + 1;
  }
  return longest;
}

int64_t count_predictions(int64_t tokens, double mask_prob, int64_t max_predictions) {
  const float wanted = static_cast<float>(tokens) * static_cast<float>(mask_prob);
  const auto rounded = static_cast<int64_t>(std::nearbyint(wanted));  // halves to even
  return std::max<int64_t>(1, std::min(max_predictions, rounded));
}

int64_t mask_words(std::span<int32_t> ids, std::span<const int32_t> mask,
                   const WordMaskingRule& rule, Key row_key, std::span<int32_t> positions,
                   std::span<int32_t> labels) {
  thread_local std::vector<Unit> units;
  thread_local std::vector<int32_t> drawn;
  std::ranges::fill(positions, 0);
  std::ranges::fill(labels, kIgnored);
  find_units(ids, mask, rule, units);
  const int64_t tokens = std::ranges::count_if(mask, [](int32_t real) { return real != 0; });
  const auto slots = static_cast<int64_t>(positions.size());
  const int64_t count =
      std::min(slots, count_predictions(tokens, rule.mask_prob, rule.max_predictions));
  RandomStream random(row_key);
  draw_units(units, count, slots, random, drawn);
  std::ranges::sort(drawn);
  for (size_t slot = 0; slot < drawn.size(); ++slot) {
    int32_t& id = ids[static_cast<size_t>(drawn[slot])];
    positions[slot] = drawn[slot];
    labels[slot] = id;
    const auto shown = static_cast<double>(random.uniform());
    const auto other = static_cast<int32_t>(
        random.below(static_cast<uint64_t>(std::max<int64_t>(1, rule.vocab_size))));
    if (shown < rule.show_mask_prob) id = rule.mask_id;
    else if (shown < rule.show_mask_prob + rule.random_prob) id = other;
  }
  return static_cast<int64_t>(drawn.size());
}

}  // namespace headwater
