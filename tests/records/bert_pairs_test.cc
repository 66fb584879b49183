// Pairs and packed segments, by their invariants: ids tell every token apart, so that it is known
// where each one came from.
#include "records/bert_pairs.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>

#include "records/sentence_packer.h"

namespace headwater {
namespace {

constexpr int32_t kCls = 2, kSep = 3, kFirst = 10;

// Documents of sentences of the given sizes; token n of all has id 10 + n.
std::vector<TokenizedDocument> documents_of(const std::vector<std::vector<int>>& sizes) {
  std::vector<TokenizedDocument> documents;
  int32_t next = kFirst;
  for (const auto& sentences : sizes) {
    TokenizedDocument document{.number = std::ssize(documents)};
    for (const int size : sentences) {
      for (int i = 0; i < size; ++i) document.ids.push_back(next++);
      document.ends.push_back(document.ids.size());
    }
    documents.push_back(std::move(document));
  }
  return documents;
}

bool holds(const TokenizedDocument& document, int32_t id) {
  return document.ids.front() <= id && id <= document.ids.back();
}
bool is_a_run(std::span<const int32_t> ids) {
  for (size_t i = 1; i < ids.size(); ++i)
    if (ids[i] != ids[i - 1] + 1) return false;
  return !ids.empty();
}

struct Pair {
  std::vector<int32_t> a, b;
  bool label = false;
};
Pair parts_of(const SegmentExample& example) {
  const auto split = example.input_ids.begin() + static_cast<ptrdiff_t>(example.first_segment);
  return {{example.input_ids.begin() + 1, split - 1},
          {split, example.input_ids.end() - 1},
          *example.label};
}

std::vector<SegmentExample> pairs_of(const std::vector<TokenizedDocument>& documents,
                                     const PairRules& rules, uint64_t seed) {
  DocumentPool pool;
  pool.next_round();
  pool.add(documents);
  PairBuilder builder(rules, pool);
  RandomStream random(Key::from_seed(seed));
  std::vector<SegmentExample> made;
  for (const TokenizedDocument& document : pool.of_lane(0))
    builder.make(document, random, [&](const SegmentExample& e) { made.push_back(e); });
  return made;
}

std::vector<std::vector<int>> any_sizes() {
  auto sizes =
      *rc::gen::resize(40, rc::gen::container<std::vector<std::vector<int>>>(
                               rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 30))));
  std::erase_if(sizes, [](const std::vector<int>& sentences) { return sentences.empty(); });
  RC_PRE(sizes.size() >= 2);
  return sizes;
}

// [CLS] A [SEP] B [SEP] within the length, runs of tokens both.
void check_form(const SegmentExample& example, int64_t max_seq_length) {
  const auto& ids = example.input_ids;
  RC_ASSERT(std::ssize(ids) <= max_seq_length);
  RC_ASSERT(ids.front() == kCls && ids.back() == kSep);
  RC_ASSERT(ids[static_cast<size_t>(example.first_segment) - 1] == kSep);
  const Pair pair = parts_of(example);
  RC_ASSERT(is_a_run(pair.a) && is_a_run(pair.b));
}

RC_GTEST_PROP(BertPairs, AreWellFormedAndTrue, ()) {
  const auto documents = documents_of(any_sizes());
  const PairRules rules{.max_seq_length = *rc::gen::inRange<int64_t>(5, 60),
                        .short_seq_prob = 0.2,
                        .cls = kCls,
                        .sep = kSep};
  const auto examples = pairs_of(documents, rules, *rc::gen::arbitrary<uint64_t>());
  int64_t own = 0, lost = 0, all = 0;
  for (const SegmentExample& example : examples) {
    check_form(example, rules.max_seq_length);
    RC_ASSERT(!example.same_document);
    const Pair pair = parts_of(example);
    const auto& document = *std::ranges::find_if(
        documents, [&](const TokenizedDocument& d) { return holds(d, pair.a.front()); });
    RC_ASSERT(holds(document, pair.a.back()));
    RC_ASSERT(holds(document, pair.b.front()) == !pair.label);
    RC_ASSERT(holds(document, pair.b.back()) == !pair.label);
    if (!pair.label) {
      RC_ASSERT(pair.a.back() < pair.b.front());
    }
    own += std::ssize(pair.a) + (pair.label ? 0 : std::ssize(pair.b));
    lost += example.lost_tokens;
  }
  for (const TokenizedDocument& document : documents) all += std::ssize(document.ids);
  RC_ASSERT(own + lost == all);  // every token once, or counted as lost
}

RC_GTEST_PROP(BertPairs, SentenceOrderIsTheDocuments, ()) {
  const auto documents = documents_of(any_sizes());
  const PairRules rules{.max_seq_length = *rc::gen::inRange<int64_t>(5, 60),
                        .sentence_order = true,
                        .cls = kCls,
                        .sep = kSep};
  for (const SegmentExample& example :
       pairs_of(documents, rules, *rc::gen::arbitrary<uint64_t>())) {
    check_form(example, rules.max_seq_length);
    const Pair pair = parts_of(example);
    const auto& first = pair.label ? pair.b : pair.a;
    const auto& second = pair.label ? pair.a : pair.b;
    RC_ASSERT(first.back() < second.front());
    RC_ASSERT(std::ranges::all_of(documents, [&](const TokenizedDocument& document) {
      return holds(document, first.front()) == holds(document, second.back());
    }));
  }
}

// Untruncated neighbours touch: B begins where A ends.
TEST(BertPairs, ANextSentenceFollowsAtOnce) {
  const auto documents = documents_of(std::vector<std::vector<int>>(50, {4, 4, 4, 4}));
  int64_t next = 0;
  for (const SegmentExample& example : pairs_of(
           documents, {.max_seq_length = 19, .short_seq_prob = 0, .cls = kCls, .sep = kSep}, 5)) {
    const Pair pair = parts_of(example);
    if (pair.label) continue;
    EXPECT_EQ(pair.b.front(), pair.a.back() + 1);
    ++next;
  }
  EXPECT_GT(next, 10);
}

TEST(BertPairs, HalfOfThemAreRandomOrSwapped) {
  // Long documents: a last sentence that is left alone always gets a random one.
  const auto documents = documents_of(std::vector<std::vector<int>>(20, std::vector<int>(400, 7)));
  for (const bool order : {false, true}) {
    const auto examples = pairs_of(
        documents, {.max_seq_length = 64, .sentence_order = order, .cls = kCls, .sep = kSep}, 1);
    const auto positive = std::ranges::count_if(
        examples, [](const SegmentExample& example) { return *example.label; });
    const double share = static_cast<double>(positive) / static_cast<double>(examples.size());
    EXPECT_GT(examples.size(), 1000u);
    EXPECT_NEAR(share, 0.5, 0.05) << order;
  }
}

TEST(BertPairs, SomeAreShort) {
  const auto documents = documents_of(std::vector<std::vector<int>>(1000, std::vector<int>(9, 5)));
  const auto is_short = [](const SegmentExample& e) { return e.input_ids.size() < 24; };
  PairRules rules{.max_seq_length = 32, .short_seq_prob = 0, .cls = kCls, .sep = kSep};
  const auto full = pairs_of(documents, rules, 1);
  rules.short_seq_prob = 1;
  const auto shorter = pairs_of(documents, rules, 1);
  EXPECT_GT(shorter.size(), full.size() * 3 / 2);
  EXPECT_GT(std::ranges::count_if(shorter, is_short), std::ssize(shorter) / 2);
}

// No other document: google's builder takes the same one, and so do we, and say so.
TEST(BertPairs, ALoneDocumentIsItsOwnOther) {
  const auto documents = documents_of({std::vector<int>(40, 5)});
  int64_t same = 0;
  for (const SegmentExample& example :
       pairs_of(documents, {.max_seq_length = 32, .cls = kCls, .sep = kSep}, 1)) {
    EXPECT_EQ(example.same_document, *example.label);
    same += example.same_document;
  }
  EXPECT_GT(same, 0);
}

// A document with one sentence has no next one; its order is that of its halves.
TEST(BertPairs, LoneSentences) {
  const auto documents = documents_of({{10}, {1}, {8}});
  for (const SegmentExample& example :
       pairs_of(documents, {.max_seq_length = 32, .cls = kCls, .sep = kSep}, 1))
    EXPECT_TRUE(*example.label);
  const auto halves = pairs_of(
      documents, {.max_seq_length = 32, .sentence_order = true, .cls = kCls, .sep = kSep}, 1);
  ASSERT_EQ(halves.size(), 2u);  // one token has no order
  EXPECT_EQ(parts_of(halves[0]).a.size(), 5u);
}

TEST(DocumentPool, KeepsThisRoundAndTheLastOneWithText) {
  DocumentPool pool;
  RandomStream random(Key::from_seed(1));
  const auto documents = documents_of({{1}, {1}, {1}});
  pool.next_round();
  pool.add({documents[0]});
  EXPECT_EQ(pool.other(documents[0], random), nullptr);
  pool.next_round();
  pool.add({documents[1]});
  ASSERT_NE(pool.other(documents[1], random), nullptr);
  EXPECT_EQ(pool.other(documents[1], random)->number, 0);
  pool.next_round();  // without text
  pool.add({});
  pool.next_round();
  pool.add({documents[2]});
  EXPECT_EQ(pool.other(documents[2], random)->number, 1);
  EXPECT_EQ(pool.of_lane(0).size(), 1u);
}

TEST(DocumentPool, PartsOfADocumentAreNoOthers) {
  DocumentPool pool;
  RandomStream random(Key::from_seed(1));
  auto documents = documents_of({{1}, {1}, {1}});
  documents[1].number = 0, documents[1].part = 1;
  std::vector<TokenizedDocument> many(200, documents[1]);
  many.push_back(documents[2]);
  pool.next_round();
  pool.add(many);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(pool.other(documents[0], random)->number, 2);
}

// All tokens in order, no segment too long, none shorter than whole sentences make it.
RC_GTEST_PROP(SentencePacker, LosesNothingAndFillsUp, ()) {
  const auto documents = documents_of(any_sizes());
  const auto length = *rc::gen::inRange<int64_t>(5, 60);
  SentencePacker packer(length, kCls, kSep);
  std::vector<std::vector<int32_t>> made;
  const auto take = [&](std::span<const int32_t> ids) {
    made.emplace_back(ids.begin(), ids.end());
  };
  for (const TokenizedDocument& document : documents) {
    for (size_t i = 0; i < document.sentences(); ++i)
      packer.add_sentence(document.sentence(i), take);
    packer.end_document();
  }
  packer.finish(take);
  packer.finish(take);  // nothing is left
  int32_t next = kFirst;
  for (size_t i = 0; i < made.size(); ++i) {
    const auto& ids = made[i];
    RC_ASSERT(std::ssize(ids) <= length && ids.size() > 2);
    RC_ASSERT(ids.front() == kCls && ids.back() == kSep && ids[ids.size() - 2] != kSep);
    bool in_order = true;
    for (const int32_t id : std::span(ids).subspan(1, ids.size() - 2)) {
      const bool begins = std::ranges::any_of(
          documents, [&](const TokenizedDocument& d) { return d.ids.front() == next; });
      in_order = in_order && (id == kSep ? begins : id == next);
      next += id == kSep ? 0 : 1;
    }
    RC_ASSERT(in_order);
    if (i + 1 == made.size()) continue;
    // The next segment's first sentence had no room here, with a [SEP] where a document ends.
    for (const TokenizedDocument& document : documents) {
      if (!holds(document, next)) continue;
      const auto at = static_cast<size_t>(next - document.ids.front());
      const size_t end = *std::ranges::upper_bound(document.ends, at);
      RC_ASSERT(std::ssize(ids) + static_cast<int64_t>(end - at) + (at == 0 ? 1 : 0) > length);
    }
  }
  RC_ASSERT(next == documents.back().ids.back() + 1);
}

}  // namespace
}  // namespace headwater
