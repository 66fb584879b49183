// Masks of a masked language model: what is drawn, what is shown, where words begin.
#include "records/word_masking.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "io/memory_files.h"

namespace headwater {
namespace {

// 0-4 special, then 학교 ##에서 ##는 공부 ##를 안 ##드로 ##메다 .
const std::vector<std::string> kTokens = {"[PAD]", "[UNK]",  "[CLS]",  "[SEP]", "[MASK]",
                                          "학교",  "##에서", "##는",   "공부",  "##를",
                                          "안",    "##드로", "##메다", "."};

std::vector<int> starts_of(const WordBounds& bounds, const std::vector<int32_t>& ids) {
  std::vector<uint8_t> starts;
  bounds.find(ids, starts);
  return {starts.begin(), starts.end()};
}

TEST(WordBounds, ContinuationsBelongToTheWordBefore) {
  const WordBounds bounds(kTokens, {});
  EXPECT_EQ(starts_of(bounds, {2, 5, 6, 7, 8, 9, 13, 3}),
            (std::vector<int>{1, 1, 0, 0, 1, 0, 1, 1}));
  EXPECT_EQ(starts_of(bounds, {-1, 99}), (std::vector<int>{1, 1}));
}

TEST(WordBounds, OfATokenizer) {
  const AnyTokenizer pieces = *Tokenizer::create(*Vocabulary::from_tokens(kTokens, "v"), {});
  const WordBounds bounds = WordBounds::of(pieces), listed(kTokens, {});
  const std::vector<int32_t> ids = {2, 5, 6, 7, 8, 9, 13, 3};
  EXPECT_EQ(starts_of(bounds, ids), starts_of(listed, ids));
  const AnyTokenizer bytes =
      *AnyTokenizer::open(local_files(), HW_TESTS_DIR "/golden/bpe/tokenizer.json");
  std::vector<int32_t> text;
  bytes.append_ids("it is", text);
  const std::vector<int> starts = starts_of(WordBounds::of(bytes), text);
  EXPECT_EQ(starts.front(), 0);  // no white space in front: what is drawn begins there anyhow
  EXPECT_EQ(std::count(starts.begin(), starts.end(), 1), 1);
}

TEST(WordBounds, ListedWordsStandByThemselves) {
  const WordBounds bounds(kTokens, {"학교", "에서는", "공부"});
  // 학교 | ##에서 ##는, 공부 | ##를, and what is not listed stays together.
  EXPECT_EQ(starts_of(bounds, {5, 6, 7, 8, 9, 10, 11, 12}),
            (std::vector<int>{1, 1, 0, 1, 1, 1, 0, 0}));
  // A listed word inside, with unlisted pieces before and behind it.
  const WordBounds inner(kTokens, {"드로"});
  EXPECT_EQ(starts_of(inner, {10, 11, 12}), (std::vector<int>{1, 1, 1}));
}

TEST(WordBounds, ReadsAListOfWords) {
  MemoryFileSystem fs;
  fs.put("words.txt", "학교\r\n\n에서는\n공부");
  EXPECT_EQ(*WordBounds::read_words(fs, "words.txt"),
            (std::unordered_set<std::string>{"학교", "에서는", "공부"}));
  fs.put("empty.txt", "\n\n");
  EXPECT_EQ(WordBounds::read_words(fs, "empty.txt").error().to_string(), "empty.txt holds no word");
  EXPECT_EQ(WordBounds::read_words(fs, "none.txt").error().code, Code::kNotFound);
}

struct Masked {
  std::vector<int32_t> ids, positions, labels;
  int64_t used = 0;
};

Masked masked(std::vector<int32_t> ids, const std::vector<int32_t>& mask,
              const WordMaskingRule& rule, Key key) {
  Masked m{std::move(ids), {}, {}, 0};
  m.positions.resize(static_cast<size_t>(rule.max_predictions));
  m.labels.resize(m.positions.size());
  m.used = mask_words(m.ids, mask, rule, key, m.positions, m.labels);
  return m;
}

WordMaskingRule small_rule() {
  return {.mask_prob = 0.3, .max_predictions = 6, .vocab_size = 14, .never = {0, 2, 3, 4}};
}

RC_GTEST_PROP(MaskWords, DrawsEachPositionOnceAndKeepsTheRest, (uint32_t seed)) {
  const WordBounds bounds(kTokens, {});
  WordMaskingRule rule = small_rule();
  if (*rc::gen::arbitrary<bool>()) rule.whole_words = &bounds;
  const auto length = *rc::gen::inRange<size_t>(0, 24);
  auto ids = *rc::gen::container<std::vector<int32_t>>(length, rc::gen::inRange<int32_t>(0, 14));
  auto mask = *rc::gen::container<std::vector<int32_t>>(length, rc::gen::inRange<int32_t>(0, 2));
  const Masked m = masked(ids, mask, rule, Key::from_seed(seed));
  RC_ASSERT(m.used <= rule.max_predictions);
  std::set<int32_t> drawn;
  for (int64_t slot = 0; slot < rule.max_predictions; ++slot) {
    const auto at = static_cast<size_t>(slot);
    if (slot >= m.used) {
      RC_ASSERT((m.positions[at] == 0 && m.labels[at] == -100));
      continue;
    }
    const auto position = static_cast<size_t>(m.positions[at]);
    RC_ASSERT((position < length && mask[position] == 1));
    RC_ASSERT(drawn.insert(m.positions[at]).second);
    RC_ASSERT((slot == 0 || m.positions[at] > m.positions[at - 1]));
    RC_ASSERT(m.labels[at] == ids[position]);
    RC_ASSERT(std::ranges::find(rule.never, ids[position]) == rule.never.end());
    RC_ASSERT(m.ids[position] >= 0 && m.ids[position] < 14);
  }
  for (size_t t = 0; t < length; ++t) {
    if (!drawn.contains(static_cast<int32_t>(t))) RC_ASSERT(m.ids[t] == ids[t]);
  }
  // A pure function of the key.
  const Masked again = masked(ids, mask, rule, Key::from_seed(seed));
  RC_ASSERT((again.ids == m.ids && again.positions == m.positions));
}

TEST(MaskWords, WholeWordsComeTogether) {
  const WordBounds bounds(kTokens, {});
  WordMaskingRule rule = small_rule();
  rule.whole_words = &bounds;
  // Words of 3, 2, 3 and 1 tokens.
  const std::vector<int32_t> ids = {2, 5, 6, 7, 8, 9, 10, 11, 12, 13, 3};
  const std::vector<std::set<int32_t>> words = {{1, 2, 3}, {4, 5}, {6, 7, 8}, {9}};
  std::map<int64_t, int> sizes;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    const Masked m = masked(ids, std::vector<int32_t>(ids.size(), 1), rule, Key::from_seed(seed));
    const std::set<int32_t> drawn(m.positions.begin(), m.positions.begin() + m.used);
    for (const auto& word : words) {
      const auto inside = std::ranges::count_if(word, [&](int32_t t) { return drawn.contains(t); });
      EXPECT_TRUE(inside == 0 || inside == static_cast<int64_t>(word.size()));
    }
    ++sizes[m.used];
  }
  // 11 tokens at 0.3 are 3, which every order of these words reaches exactly.
  EXPECT_EQ(sizes, (std::map<int64_t, int>{{3, 400}}));
}

TEST(MaskWords, ShowsMaskRandomAndOriginalInTheirShares) {
  WordMaskingRule rule{.mask_prob = 0.15,
                       .max_predictions = 100,
                       .mask_id = 4,
                       .vocab_size = 30000,
                       .never = {2, 3}};
  std::vector<int32_t> ids(600, 20000);
  const std::vector<int32_t> mask(600, 1);
  int64_t total = 0, shown = 0, kept = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const Masked m = masked(ids, mask, rule, Key::from_seed(seed));
    EXPECT_EQ(m.used, 90);
    total += m.used;
    for (int64_t slot = 0; slot < m.used; ++slot) {
      const int32_t id = m.ids[static_cast<size_t>(m.positions[static_cast<size_t>(slot)])];
      shown += id == 4 ? 1 : 0;
      kept += id == 20000 ? 1 : 0;
    }
  }
  // Within four standard deviations of 9,000 draws.
  EXPECT_NEAR(static_cast<double>(shown) / static_cast<double>(total), 0.8, 0.017);
  EXPECT_NEAR(static_cast<double>(kept) / static_cast<double>(total), 0.1, 0.013);
}

TEST(MaskWords, ARowWithoutAnythingToDrawIsLeftAlone) {
  const Masked m = masked({2, 3, 0, 0}, {1, 1, 0, 0}, small_rule(), Key::from_seed(1));
  EXPECT_EQ(m.used, 0);
  EXPECT_EQ(m.ids, (std::vector<int32_t>{2, 3, 0, 0}));
  EXPECT_EQ(masked({}, {}, small_rule(), Key::from_seed(1)).used, 0);
}

}  // namespace
}  // namespace headwater
