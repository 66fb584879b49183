#include "tokens/bpe_trainer.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "base/threads.h"
#include "text/corpus.h"
#include "tokens/bpe_fixtures.h"
#include "tokens/word_counts.h"

namespace headwater {
namespace {

using Words = std::vector<std::pair<std::string, int64_t>>;

TrainedBpe must_train(const Words& words, BpeTrainerOptions options) {
  auto trained = train_bpe(words, options);
  if (!trained) throw std::runtime_error(trained.error().to_string());
  return *std::move(trained);
}

std::string merges_of(const TrainedBpe& trained) {
  std::string out;
  for (const auto& merge : trained.parts.merges) out += merge.left + " " + merge.right + "\n";
  return out;
}

Words words_of(const std::vector<std::string>& lines) {
  WordCounts counts({.byte_level = true});
  counts.add_lines(lines);
  return counts.sorted();
}

TEST(BpeTrainer, MostFrequentPairFirst) {
  const TrainedBpe trained =
      must_train({{"abab", 3}, {"bc", 10}}, {.vocab_size = 260, .min_frequency = 2});
  EXPECT_EQ(merges_of(trained), "b c\na b\nab ab\n");
  EXPECT_EQ(trained.last_frequency, 3);
  const BpeModel model = must_make(trained.parts);
  EXPECT_EQ(model.size(), 260);
  EXPECT_EQ(model.find("bc"), 256);
  EXPECT_EQ(model.find("<|endoftext|>"), 259);
  EXPECT_TRUE(model.is_added(259));
}

// Of equally frequent pairs the one of the older tokens, the left one first.
TEST(BpeTrainer, Ties) {
  EXPECT_EQ(merges_of(must_train({{"za", 2}, {"ab", 2}, {"aa", 2}}, {.vocab_size = 260})),
            "a a\na b\nz a\n");
  EXPECT_EQ(merges_of(must_train({{" x", 2}, {"yx", 2}}, {.vocab_size = 259})), "y x\nĠ x\n");
}

TEST(BpeTrainer, StopsWhereNothingIsFrequent) {
  const TrainedBpe trained = must_train({{"ab", 1}, {"cd", 2}}, {.vocab_size = 1000});
  EXPECT_EQ(merges_of(trained), "c d\n");
  EXPECT_EQ(must_make(trained.parts).size(), 258);
}

TEST(BpeTrainer, SizesThatCannotBe) {
  EXPECT_FALSE(train_bpe({{"ab", 1}}, {.vocab_size = 256}));
  EXPECT_TRUE(train_bpe({{"ab", 1}}, {.vocab_size = 257}));
  EXPECT_FALSE(train_bpe({{"ab", 1}}, {.vocab_size = int64_t{1} << 40}));
}

TEST(WordCounts, BytesOfLinesWithTheirEnds) {
  const std::map<std::string, int64_t> words = [] {
    const Words list = words_of({"안녕 it's", "안녕  안녕"});
    return std::map<std::string, int64_t>(list.begin(), list.end());
  }();
  EXPECT_EQ(words, (std::map<std::string, int64_t>{
                       {"안녕", 2}, {" it", 1}, {"'s", 1}, {"\n", 2}, {" ", 1}, {" 안녕", 1}}));
}

// The merges that Hugging Face's trainer made of the same file, ties included.
TEST(BpeTrainer, SameMergesAsHuggingFace) {
  const std::string root = std::string(HW_TESTS_DIR) + "/";
  auto reader = LineReader::open(local_files(), root + "../examples/korean-colloquial.txt");
  ASSERT_TRUE(reader);
  std::vector<std::string> lines;
  for (std::string_view line; *reader->next(line);) lines.emplace_back(line);
  const auto json = parse_json(must_read(root + "golden/bpe/tokenizer.json"), "golden");
  ASSERT_TRUE(json);
  std::string expected;
  for (const Json& merge : (*json)["model"]["merges"])
    expected += fmt::format("{} {}\n", merge[0].get<std::string>(), merge[1].get<std::string>());
  for (const int threads : {1, 3}) {
    set_num_threads(threads);
    EXPECT_EQ(merges_of(must_train(words_of(lines), {.vocab_size = 901})), expected);
  }
  set_num_threads(0);
}

// Counting all pairs anew for every merge gives the same.
RC_GTEST_PROP(BpeTrainer, AsThePlainWay, ()) {
  Words words;
  for (int i = *rc::gen::inRange(1, 8); i > 0; --i) {
    auto word =
        *rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::elementOf(std::string("abc"))));
    words.emplace_back(word + std::string(static_cast<size_t>(i), 'z'), *rc::gen::inRange(1, 5));
  }
  const TrainedBpe trained = must_train(words, {.vocab_size = 290, .min_frequency = 1});
  std::vector<std::pair<std::vector<std::string>, int64_t>> sequences;
  for (const auto& [word, count] : words) {
    std::vector<std::string> pieces;
    for (const char c : word) pieces.emplace_back(1, c);
    sequences.emplace_back(pieces, count);
  }
  std::map<std::string, size_t> ages;  // of tokens
  for (size_t id = 0; id < trained.parts.tokens.size(); ++id)
    ages.emplace(trained.parts.tokens[id].first, id);
  for (const auto& merge : trained.parts.merges) {
    std::map<std::pair<std::string, std::string>, int64_t> counts;
    for (const auto& [pieces, count] : sequences)
      for (size_t i = 1; i < pieces.size(); ++i) counts[{pieces[i - 1], pieces[i]}] += count;
    const auto better = [&](const auto& a, const auto& b) {
      if (a.second != b.second) return a.second > b.second;
      const auto age = [&](const auto& pair) {
        return std::pair(ages.at(pair.first), ages.at(pair.second));
      };
      return age(a.first) < age(b.first);
    };
    const auto best = std::min_element(counts.begin(), counts.end(), better);
    RC_ASSERT(best->first == std::pair(merge.left, merge.right));
    for (auto& [pieces, count] : sequences) {
      std::vector<std::string> joined;
      for (size_t i = 0; i < pieces.size(); ++i) {
        const bool here =
            pieces[i] == merge.left && i + 1 < pieces.size() && pieces[i + 1] == merge.right;
        joined.push_back(here ? pieces[i] + pieces[i + 1] : pieces[i]);
        i += here ? 1 : 0;
      }
      pieces = joined;
    }
  }
}

}  // namespace
}  // namespace headwater
