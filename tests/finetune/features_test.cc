// Rows and batches: encoding of pairs, words and questions, the order of an epoch, padding.
#include "finetune/features.h"

#include <rapidcheck/gtest.h>

#include <set>

namespace headwater {
namespace {

Encoder small_encoder() {
  std::vector<std::string> tokens = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
  for (char c = 'a'; c <= 'z'; ++c) {
    tokens.emplace_back(1, c);
    tokens.push_back(std::string("##") + c);
  }
  auto vocabulary = Vocabulary::from_tokens(tokens, "test");
  auto tokenizer = Tokenizer::create(*vocabulary, {});
  return *Encoder::create(*tokenizer);
}

Task task_of(TaskKind kind) {
  Task task;
  task.kind = kind;
  return task;
}

TEST(Features, WordsAskTheirFirstPiece) {
  TaskData data;
  TaskExample example;
  example.words = {"ab", "c", "def"};
  example.labels = {2, 0, 1};
  data.examples.push_back(example);
  const auto set = encode_examples(task_of(TaskKind::kTokens), data, small_encoder(), {});
  ASSERT_TRUE(set);
  const Feature& row = set->rows[0];
  const int32_t n = kNoLabel;
  EXPECT_EQ(row.labels, (std::vector<int32_t>{n, 2, n, 0, 1, n, n, n}));
  EXPECT_EQ(row.words, (std::vector<int32_t>{-1, 0, -1, 1, 2, -1, -1, -1}));
  // A word that does not fit as a whole is left out.
  const auto cut =
      encode_examples(task_of(TaskKind::kTokens), data, small_encoder(), {.max_length = 6});
  EXPECT_EQ(cut->rows[0].input_ids.size(), 5U);
}

TEST(Features, QuestionsHaveWindows) {
  TaskData data;
  TaskExample example;
  example.text = "a b";
  example.pair = "c d e f g h i j";
  example.answers = {{"g h", example.pair.find("g h")}};
  data.examples.push_back(example);
  const EncodeRules rules{.max_length = 9, .max_query_length = 2, .doc_stride = 2};
  const auto set = encode_examples(task_of(TaskKind::kQuestions), data, small_encoder(), rules);
  ASSERT_TRUE(set);
  ASSERT_EQ(set->rows.size(), 3U);  // windows of 4 at 0, 2, 4
  EXPECT_EQ(set->rows[0].labels, (std::vector<int32_t>{0, 0}));
  EXPECT_EQ(set->rows[1].labels, (std::vector<int32_t>{6, 7}));
  EXPECT_EQ(set->rows[2].labels, (std::vector<int32_t>{4, 5}));
  EXPECT_EQ(set->rows[2].token_type_ids, (std::vector<int32_t>{0, 0, 0, 0, 1, 1, 1, 1, 1}));
  const auto none = encode_examples(task_of(TaskKind::kQuestions), data, small_encoder(),
                                    {.max_length = 5, .max_query_length = 2});
  EXPECT_FALSE(none);
}

std::vector<Feature> rows_of(const std::vector<int>& lengths) {
  std::vector<Feature> rows;
  for (const int length : lengths) {
    Feature row;
    row.input_ids.assign(static_cast<size_t>(length), 7);
    row.token_type_ids.assign(static_cast<size_t>(length), 0);
    row.labels = {0};
    rows.push_back(row);
  }
  return rows;
}

RC_GTEST_PROP(Features, AnEpochHasEveryRowOnce, ()) {
  const auto lengths =
      *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 40)));
  const auto rows = rows_of(lengths);
  const auto size = *rc::gen::inRange<int64_t>(1, 9);
  const bool by_length = *rc::gen::arbitrary<bool>();
  const auto epoch = epoch_batches(rows, size, by_length, 5, 1);
  RC_ASSERT(epoch == epoch_batches(rows, size, by_length, 5, 1));
  std::multiset<size_t> seen;
  for (const auto& batch : epoch) {
    RC_ASSERT(!batch.empty() && batch.size() <= static_cast<size_t>(size));
    seen.insert(batch.begin(), batch.end());
  }
  RC_ASSERT(seen.size() == rows.size() &&
            std::set<size_t>(seen.begin(), seen.end()).size() == rows.size());
}

TEST(Features, GroupedBatchesHaveLessPadding) {
  std::vector<int> lengths;
  RandomStream random(Key::from_seed(1));
  for (int i = 0; i < 800; ++i) lengths.push_back(5 + static_cast<int>(random.below(60)));
  const auto rows = rows_of(lengths);
  const auto padded = [&](bool by_length) {
    int64_t tokens = 0;
    for (const auto& batch : epoch_batches(rows, 16, by_length, 3, 0)) {
      const ModelBatch made = make_model_batch(rows, batch, {.labels = 2, .multiple = 1});
      tokens += made.batch_size * made.seq_length;
    }
    return tokens;
  };
  EXPECT_LT(padded(true) * 4, padded(false) * 3);
}

TEST(Features, BatchesArePaddedAndWeighted) {
  auto rows = rows_of({3, 5});
  rows[1].labels = {1};
  const std::vector<size_t> chosen = {1, 0};
  const ModelBatch batch =
      make_model_batch(rows, chosen, {.labels = 2, .multiple = 4, .class_weights = {1, 3}});
  EXPECT_EQ(batch.seq_length, 8);
  EXPECT_EQ(batch.tokens(), 8);
  EXPECT_EQ(batch.labels, (std::vector<int32_t>{1, 0}));
  EXPECT_EQ(batch.label_weights, (std::vector<float>{3, 1}));
  EXPECT_EQ(batch.attention_mask[4], 1);
  EXPECT_EQ(batch.attention_mask[5], 0);
  rows[1].labels = {0, 2};
  const ModelBatch several =
      make_model_batch(rows, chosen, {.kind = TaskKind::kMultiLabel, .labels = 3});
  EXPECT_EQ(several.label_values, (std::vector<float>{1, 0, 1, 1, 0, 0}));
}

TEST(Features, BalancedWeights) {
  std::vector<TaskExample> examples(4);
  for (size_t i = 0; i < 4; ++i) examples[i].labels = {i == 0 ? 1 : 0};
  EXPECT_EQ(balanced_weights(TaskKind::kSingleLabel, examples, 2),
            (std::vector<float>{4.0F / 6, 2}));
  EXPECT_EQ(balanced_weights(TaskKind::kMultiLabel, examples, 2),
            (std::vector<float>{1.0F / 3, 3}));
}

}  // namespace
}  // namespace headwater
