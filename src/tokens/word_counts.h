// The words of a corpus and how often each occurs: what a vocabulary is trained on.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "text/basic_normalizer.h"
#include "text/gpt2_splitter.h"
#include "text/normal_form.h"

namespace headwater {

struct WordCountOptions {
  // GPT-2's words of a line with its end, as they are, instead of BERT's words of a normalised one.
  bool byte_level = false;
  NormalizerOptions normalizer;
  NormalForm form = NormalForm::kNone;
  int64_t max_jamo_run = 0;      // longer runs of one compatibility jamo are cut; 0: never
  int64_t max_word_chars = 200;  // longer words are [UNK] to WordPiece and teach nothing
  // Memory: when more distinct words than this have been seen, the rarest are forgotten.
  int64_t max_distinct = int64_t{1} << 24;
};

class WordCounts {
 public:
  explicit WordCounts(WordCountOptions options);

  // Counts the words of lines of valid UTF-8, on all threads. The result depends on the lines and
  // how they are grouped into calls, never on the number of threads.
  void add_lines(std::span<const std::string> lines);

  int64_t total() const { return total_; }                                   // words read
  int64_t distinct() const { return static_cast<int64_t>(counts_.size()); }  // words kept
  int64_t too_long() const { return too_long_; }
  int64_t forgotten() const { return forgotten_; }              // rare words dropped to save memory
  std::vector<std::pair<std::string, int64_t>> sorted() const;  // by word

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  using Map = std::unordered_map<std::string, int64_t, Hash, std::equal_to<>>;
  struct Part {
    Map counts;
    int64_t total = 0, too_long = 0;
  };
  void count(std::string_view line, std::vector<NormalizedChar>& chars, Part& part) const;
  void count_bytes(std::string line, Part& part) const;
  void forget_rare();

  WordCountOptions options_;
  BasicNormalizer normalizer_;
  Gpt2Splitter splitter_;
  Map counts_;
  int64_t total_ = 0, too_long_ = 0, forgotten_ = 0;
};

}  // namespace headwater
