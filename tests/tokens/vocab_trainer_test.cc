#include "tokens/vocab_trainer.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "base/threads.h"
#include "text/utf8.h"
#include "tokens/fixtures.h"
#include "tokens/word_counts.h"

namespace headwater {
namespace {

using Words = std::vector<std::pair<std::string, int64_t>>;
using Strings = std::vector<std::string>;

Strings train(const Words& words, VocabTrainerOptions options) {
  const auto trained = train_vocabulary(words, options);
  EXPECT_TRUE(trained) << trained.error().to_string();
  return trained ? trained->tokens : Strings{};
}

VocabTrainerOptions bare(int64_t size) {
  VocabTrainerOptions options;
  options.vocab_size = size;
  options.special_tokens = {"[UNK]"};
  options.limit_alphabet = 1000;
  return options;
}

TEST(VocabTrainer, JoinsTheMostFrequentPair) {
  // ab 5, abc 3, xbc 2: ##b ##c 5 ties with nothing, a ##b 8 is first, then ab ##c 3.
  const Words words = {{"ab", 5}, {"abc", 3}, {"xbc", 2}};
  EXPECT_EQ(train(words, bare(10)),
            (Strings{"[UNK]", "a", "b", "c", "x", "##b", "##c", "ab", "abc", "xb"}));
}

TEST(VocabTrainer, StopsAtTheLeastFrequency) {
  VocabTrainerOptions options = bare(100);
  options.min_frequency = 3;
  const auto trained = train_vocabulary({{"ab", 5}, {"abc", 3}, {"xbc", 2}}, options);
  ASSERT_TRUE(trained);
  EXPECT_EQ(trained->tokens.back(), "abc");
  EXPECT_EQ(trained->last_frequency, 3);
  EXPECT_EQ(trained->joined, 2);
}

TEST(VocabTrainer, FixedSlots) {
  VocabTrainerOptions options;
  options.vocab_size = 12;
  options.num_unused = 3;
  options.limit_alphabet = 2;
  const Strings tokens = train({{"ab", 5}, {"abc", 3}}, options);
  EXPECT_EQ(tokens, (Strings{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "##b", "ab",
                             "[unused0]", "[unused1]", "[unused2]"}));
  options.vocab_size = 9;
  EXPECT_FALSE(train_vocabulary({{"ab", 5}}, options));
}

TEST(VocabTrainer, RareCharactersCutWords) {
  VocabTrainerOptions options = bare(20);
  options.limit_alphabet = 3;
  // y is rare: a and ##c never stand side by side.
  const Strings tokens = train({{"ayc", 5}, {"ab", 20}, {"cc", 20}}, options);
  EXPECT_EQ(std::count(tokens.begin(), tokens.end(), "ac"), 0);
  EXPECT_EQ(std::count(tokens.begin(), tokens.end(), "y"), 0);
}

TEST(VocabTrainer, AutomaticAlphabetLeavesRoom) {
  Words words;
  for (char32_t c = 0xAC00; c < 0xAC00 + 500; ++c) words.push_back({utf32_to_utf8({&c, 1}), 3});
  words.push_back({"ab", 1000});
  VocabTrainerOptions options;
  options.vocab_size = 105;
  const auto trained = train_vocabulary(words, options);
  ASSERT_TRUE(trained);
  EXPECT_EQ(trained->alphabet, 49);  // a, b and ##b, 47 syllables: 50 of 100 free slots
  EXPECT_EQ(trained->all_characters, 502);
}

// Recounting everything for every join is slow but plain; the incremental counts must agree.
Strings recounting(const Words& words, const VocabTrainerOptions& options) {
  std::set<std::string> first, inside;
  std::vector<std::pair<Strings, int64_t>> split;
  for (const auto& [word, count] : words) {
    Strings pieces;
    for (size_t i = 0; i < word.size(); ++i) {
      first.insert(word.substr(i, 1));
      if (i > 0) inside.insert("##" + word.substr(i, 1));
      pieces.push_back((i > 0 ? "##" : "") + word.substr(i, 1));
    }
    split.emplace_back(pieces, count);
  }
  Strings tokens = options.special_tokens;
  tokens.insert(tokens.end(), first.begin(), first.end());
  tokens.insert(tokens.end(), inside.begin(), inside.end());
  const auto id = [&](const std::string& token) {
    return std::find(tokens.begin(), tokens.end(), token) - tokens.begin();
  };
  while (static_cast<int64_t>(tokens.size()) < options.vocab_size) {
    std::map<std::pair<long, long>, int64_t> pairs;
    for (const auto& [pieces, count] : split)
      for (size_t i = 1; i < pieces.size(); ++i) pairs[{id(pieces[i - 1]), id(pieces[i])}] += count;
    const auto best =
        std::max_element(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) {
          return a.second != b.second ? a.second < b.second : a.first > b.first;
        });
    if (best == pairs.end() || best->second < options.min_frequency) break;
    const std::string left = tokens[static_cast<size_t>(best->first.first)];
    const std::string right = tokens[static_cast<size_t>(best->first.second)];
    const std::string joined = left + right.substr(2);
    if (std::find(tokens.begin(), tokens.end(), joined) == tokens.end()) tokens.push_back(joined);
    for (auto& [pieces, count] : split) {
      Strings next;
      for (size_t i = 0; i < pieces.size(); ++i) {
        const bool here = i + 1 < pieces.size() && pieces[i] == left && pieces[i + 1] == right;
        next.push_back(here ? joined : pieces[i]);
        i += here ? 1 : 0;
      }
      pieces = next;
    }
  }
  return tokens;
}

TEST(VocabTrainer, AgreesWithRecounting) {
  std::mt19937 rng(17);
  for (int round = 0; round < 60; ++round) {
    std::map<std::string, int64_t> counts;
    for (uint32_t i = 1 + rng() % 60; i > 0; --i) {
      std::string word;
      for (uint32_t n = 1 + rng() % 9; n > 0; --n) word += "aaabc"[rng() % 5];
      counts[word] += 1 + rng() % 4;
    }
    const Words words(counts.begin(), counts.end());
    VocabTrainerOptions options = bare(10 + rng() % 60);
    options.min_frequency = 1 + rng() % 3;
    ASSERT_EQ(train(words, options), recounting(words, options));
  }
}

TEST(WordCounts, CountsWordsOfTheTokenizer) {
  WordCounts counts({.normalizer = {.lower_case = true}});
  counts.add_lines(Strings{"One, two one", "漢字 two", std::string(201, 'x')});
  EXPECT_EQ(counts.sorted(), (Words{{",", 1}, {"one", 2}, {"two", 2}, {"字", 1}, {"漢", 1}}));
  EXPECT_EQ(counts.total(), 7);
  EXPECT_EQ(counts.too_long(), 1);
}

TEST(WordCounts, NormalFormAndJamoRuns) {
  WordCounts counts({.form = NormalForm::kNfc, .max_jamo_run = 1});
  counts.add_lines(Strings{"\u1112\u1161\u11abㅋㅋㅋ", "한ㅋ"});
  EXPECT_EQ(counts.sorted(), (Words{{"한ㅋ", 2}}));
}

TEST(WordCounts, ThreadsDoNotShow) {
  std::mt19937 rng(4);
  Strings lines;
  for (int i = 0; i < 5000; ++i) lines.push_back("w" + std::to_string(rng() % 700) + " 안녕");
  WordCounts one({}), many({});
  set_num_threads(1);
  one.add_lines(lines);
  set_num_threads(4);
  many.add_lines(lines);
  set_num_threads(0);
  EXPECT_EQ(one.sorted(), many.sorted());
}

TEST(WordCounts, ForgetsTheRarestWhenFull) {
  WordCounts counts({.max_distinct = 10});
  Strings lines = {"a a a b b b c c c"};
  for (int i = 0; i < 20; ++i) lines.push_back("w" + std::to_string(i));
  counts.add_lines(lines);
  EXPECT_EQ(counts.sorted(), (Words{{"a", 3}, {"b", 3}, {"c", 3}}));
  EXPECT_EQ(counts.forgotten(), 20);
}

// Train, tokenise the same text: nothing inside the alphabet is unknown, and on real Korean text
// the vocabulary is as good as one of the same size by Hugging Face's trainer.
TEST(VocabTrainer, RoundTripOnRealText) {
  HW_NEEDS_SHARED("fixtures/tokenizers");
  Strings lines;
  for (const Json& row : read_json_lines(shared_path("fixtures/tokenizers/real_ko.jsonl")))
    lines.push_back(row["text"]);
  WordCounts counts({});
  counts.add_lines(lines);
  VocabTrainerOptions options;
  options.vocab_size = 8000;
  options.min_frequency = 1;
  options.limit_alphabet = 6000;
  const auto trained = train_vocabulary(counts.sorted(), options);
  ASSERT_TRUE(trained);
  EXPECT_DOUBLE_EQ(trained->coverage, 1);
  const Tokenizer tokenizer = must_create(*Vocabulary::from_tokens(trained->tokens, "trained"));
  const Tokenizer ko8k =
      must_create(must_load(shared_path("fixtures/tokenizers/vocabs/ko8k/vocab.txt")));
  int64_t unknown = 0, tokens = 0, theirs = 0;
  for (const std::string& line : lines) {
    const auto ids = ids_of(tokenizer, line);
    unknown += std::count(ids.begin(), ids.end(), tokenizer.unk_id());
    tokens += static_cast<int64_t>(ids.size());
    theirs += static_cast<int64_t>(ids_of(ko8k, line).size());
  }
  EXPECT_EQ(unknown, 0);
  EXPECT_LT(tokens, theirs);  // trained on the very text
}

}  // namespace
}  // namespace headwater
