// Texts that a corpus must not hold, as those of a test set, and whether a line of it holds one:
// word for word, or nearly.
//
// Compared are letters and digits alone, in composed form (NFC), without case: a text that was
// quoted with other spaces, punctuation or emoji is still the same. A line holds a text when it is
// that text or when every run of six letters of the text stands in it, and nearly holds it when
// most of them do. A text with few different runs (fewer than some 17 letters, or laughter) is only
// found as a whole line: its runs stand in many texts by chance.
//
// The runs are compared by 64-bit hashes (shingles: Broder, "On the resemblance and containment of
// documents", 1997; containment of the text in the line, as lines may be longer).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace headwater {

class ExcludedTexts {
 public:
  static constexpr size_t kRunLetters = 6, kFewestRuns = 12;
  static constexpr size_t kNearPercent = 80;  // of a text's runs

  enum class Match : uint8_t { kNone, kHolds, kNearly };

  ExcludedTexts();

  // `text` is valid UTF-8. Texts without a letter or digit are passed over.
  void add(std::string_view text);

  // What a call of match() works in: reused, so that it allocates little. One per thread.
  struct Scratch {
    std::u32string letters;
    std::vector<uint64_t> runs;
    std::vector<uint32_t> texts;
  };
  // `line` is valid UTF-8. May be called from several threads, each with its own scratch.
  Match match(std::string_view line, Scratch& scratch) const;

  int64_t size() const { return static_cast<int64_t>(whole_.size()); }  // different texts
  bool empty() const { return whole_.empty(); }

 private:
  bool maybe_known(uint64_t hash) const;
  void note(uint64_t hash);

  std::unordered_set<uint64_t> whole_;  // of all letters of a text
  std::unordered_map<uint64_t, std::vector<uint32_t>> texts_of_run_;
  std::vector<uint32_t> runs_of_text_;  // how many different ones
  std::vector<uint64_t> known_;         // bits by hash: most runs of a corpus stop here
};

}  // namespace headwater
