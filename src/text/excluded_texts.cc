#include "text/excluded_texts.h"

#include <unicode/uchar.h>

#include <algorithm>

#include "text/normal_form.h"
#include "text/utf8.h"

namespace headwater {
namespace {

constexpr size_t kKnownBits = size_t{1} << 24;  // 2 MB
constexpr uint64_t kMultiplier = 0x9E3779B97F4A7C15;

// Finaliser of MurmurHash3: every bit of the input reaches every bit of the output.
uint64_t mixed(uint64_t h) {
  h = (h ^ (h >> 33)) * 0xFF51AFD7ED558CCD;
  h = (h ^ (h >> 33)) * 0xC4CEB9FE1A85EC53;
  return h ^ (h >> 33);
}

void append_letters(std::string_view text, std::u32string& letters) {
  for (size_t i = 0; i < text.size();) {
    const auto c = static_cast<UChar32>(decode_utf8(text, i));
    if (u_isalnum(c)) letters += static_cast<char32_t>(u_foldCase(c, U_FOLD_CASE_DEFAULT));
  }
}

void set_letters(std::string_view text, std::u32string& letters) {
  letters.clear();
  if (is_normal(text, NormalForm::kNfc)) append_letters(text, letters);
  else append_letters(to_normal_form(text, NormalForm::kNfc), letters);
}

uint64_t hash_of(std::u32string_view letters) {
  uint64_t hash = letters.size();
  for (const char32_t letter : letters) hash = (hash + letter) * kMultiplier ^ (hash >> 29);
  return mixed(hash);
}

// Hashes of all runs: h(i) = sum of letter(i + j) m^(5 - j), rolled on by a letter at a time.
template <class F>
void for_each_run_hash(std::u32string_view letters, F f) {
  constexpr size_t kRun = ExcludedTexts::kRunLetters;
  uint64_t leaving = 1;  // m^6: the factor of the letter that leaves
  for (size_t i = 0; i < kRun; ++i) leaving *= kMultiplier;
  uint64_t hash = 0;
  for (size_t i = 0; i < letters.size(); ++i) {
    hash = hash * kMultiplier + letters[i];
    if (i >= kRun) hash -= leaving * letters[i - kRun];
    if (i + 1 >= kRun) f(mixed(hash));
  }
}

}  // namespace

ExcludedTexts::ExcludedTexts() : known_(kKnownBits / 64) {}

void ExcludedTexts::note(uint64_t hash) {
  known_[hash % kKnownBits / 64] |= uint64_t{1} << (hash % 64);
}

bool ExcludedTexts::maybe_known(uint64_t hash) const {
  return (known_[hash % kKnownBits / 64] >> (hash % 64) & 1) != 0;
}

void ExcludedTexts::add(std::string_view text) {
  std::u32string letters;
  set_letters(text, letters);
  if (letters.empty()) return;
  const uint64_t whole = hash_of(letters);
  if (!whole_.insert(whole).second) return;
  note(whole);
  std::vector<uint64_t> runs;
  for_each_run_hash(letters, [&](uint64_t run) { runs.push_back(run); });
  std::ranges::sort(runs);
  runs.erase(std::unique(runs.begin(), runs.end()), runs.end());
  if (runs.size() < kFewestRuns) return;
  const auto number = static_cast<uint32_t>(runs_of_text_.size());
  runs_of_text_.push_back(static_cast<uint32_t>(runs.size()));
  for (const uint64_t run : runs) {
    texts_of_run_[run].push_back(number);
    note(run);
  }
}

ExcludedTexts::Match ExcludedTexts::match(std::string_view line, Scratch& scratch) const {
  set_letters(line, scratch.letters);
  if (scratch.letters.empty()) return Match::kNone;
  const uint64_t whole = hash_of(scratch.letters);
  if (maybe_known(whole) && whole_.contains(whole)) return Match::kHolds;
  auto& runs = scratch.runs;
  runs.clear();
  for_each_run_hash(scratch.letters, [&](uint64_t run) {
    if (maybe_known(run)) runs.push_back(run);
  });
  if (runs.size() * 100 < kFewestRuns * kNearPercent) return Match::kNone;
  std::ranges::sort(runs);
  runs.erase(std::unique(runs.begin(), runs.end()), runs.end());
  auto& texts = scratch.texts;
  texts.clear();
  for (const uint64_t run : runs) {
    const auto found = texts_of_run_.find(run);
    if (found != texts_of_run_.end())
      texts.insert(texts.end(), found->second.begin(), found->second.end());
  }
  std::ranges::sort(texts);
  Match best = Match::kNone;
  for (size_t begin = 0, end = 0; begin < texts.size(); begin = end) {
    while (end < texts.size() && texts[end] == texts[begin]) ++end;
    const size_t shared = end - begin, all = runs_of_text_[texts[begin]];
    if (shared == all) return Match::kHolds;
    if (shared * 100 >= all * kNearPercent) best = Match::kNearly;
  }
  return best;
}

}  // namespace headwater
