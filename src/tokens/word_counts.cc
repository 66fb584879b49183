#include "tokens/word_counts.h"

#include <algorithm>

#include "base/checked.h"
#include "base/threads.h"
#include "text/utf8.h"
#include "tokens/text_rewriter.h"

namespace headwater {
namespace {

constexpr int64_t kLinesPerTask = 1024;

}  // namespace

WordCounts::WordCounts(WordCountOptions options)
    : options_(options), normalizer_(options.normalizer) {}

void WordCounts::count(std::string_view line, std::vector<NormalizedChar>& chars,
                       Part& part) const {
  normalizer_.normalize(line, chars);
  std::string word;
  int64_t length = 0;
  const auto end_word = [&] {
    if (length > options_.max_word_chars) {
      ++part.too_long;
    } else if (length > 0) {
      ++part.total;
      ++part.counts[word];
    }
    word.clear();
    length = 0;
  };
  for (const NormalizedChar& c : chars) {
    if (c.kind != CharKind::kWord) end_word();
    if (c.kind == CharKind::kSpace) continue;
    append_utf8(c.code_point, word);
    ++length;
    if (c.kind == CharKind::kIsolated) end_word();
  }
  end_word();
}

void WordCounts::count_bytes(std::string line, Part& part) const {
  line.push_back('\n');
  for (size_t begin = 0; begin < line.size();) {
    const size_t end = splitter_.word_end(line, begin);
    ++part.total;
    ++part.counts[line.substr(begin, end - begin)];
    begin = end;
  }
}

void WordCounts::add_lines(std::span<const std::string> lines) {
  const auto n = static_cast<int64_t>(lines.size());
  std::vector<Part> parts(static_cast<size_t>(ceil_div(n, kLinesPerTask)));
  const TextRewriter rewriter{options_.form, options_.max_jamo_run};
  parallel_for(n, kLinesPerTask, [&](int64_t begin, int64_t end) {
    Part& part = parts[static_cast<size_t>(begin / kLinesPerTask)];
    std::vector<NormalizedChar> chars;
    for (int64_t i = begin; i < end; ++i) {
      const std::string& line = lines[static_cast<size_t>(i)];
      const bool keep = rewriter.keeps(line);
      const RewrittenText rewritten = keep ? RewrittenText() : rewriter.rewrite(line);
      const std::string& text = keep ? line : rewritten.text;
      if (options_.byte_level) {
        count_bytes(text, part);
      } else {
        count(text, chars, part);
      }
    }
  });
  for (Part& part : parts) {
    for (const auto& [word, count] : part.counts) counts_[word] += count;
    total_ += part.total;
    too_long_ += part.too_long;
  }
  if (distinct() > options_.max_distinct) forget_rare();
}

void WordCounts::forget_rare() {
  for (int64_t rare = 1; distinct() > options_.max_distinct / 2; ++rare)
    forgotten_ += static_cast<int64_t>(
        std::erase_if(counts_, [rare](const auto& entry) { return entry.second <= rare; }));
}

std::vector<std::pair<std::string, int64_t>> WordCounts::sorted() const {
  std::vector<std::pair<std::string, int64_t>> words(counts_.begin(), counts_.end());
  std::sort(words.begin(), words.end());
  return words;
}

}  // namespace headwater
