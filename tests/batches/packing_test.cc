// Packed batches: every token once, documents kept apart, rows well filled.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>

#include "batches/examples.h"

namespace headwater {
namespace {

BatchPipelineOptions packed(int64_t rows, const char* length) {
  BatchPipelineOptions options;
  options.records = "r/*";
  options.features = *parse_feature_specs("input_ids:int64[], labels:int64[]?");
  options.order = BatchOrder::kSequential;
  options.pad_to = *parse_pad_to(length);
  options.batch_size = rows;
  options.epochs = 1;
  options.pack = true;
  return options;
}

using Ints = std::vector<int32_t>;

TEST(Packing, DocumentsShareRows) {
  MemoryFileSystem fs;
  put_lists(fs, "r/a", {{1, 1, 1}, {2, 2, 2, 2}, {3}, {}, {4, 4}, {5, 5, 5, 5, 5, 5, 5, 5}});
  BatchPipelineOptions options = packed(2, "5");
  options.pad_id = 9;
  const auto batches = take_batches(*open_batches(fs, options));
  ASSERT_EQ(batches.size(), 2u);
  const Batch& first = batches[0];
  EXPECT_EQ(first.find("input_ids")->shape, (std::vector<int64_t>{2, 5}));
  EXPECT_EQ(first.find("input_ids")->ints, (Ints{1, 1, 1, 4, 4, 2, 2, 2, 2, 3}));
  EXPECT_EQ(first.find(kDocumentIds)->ints, (Ints{1, 1, 1, 2, 2, 1, 1, 1, 1, 2}));
  EXPECT_EQ(first.find(kPositionIds)->ints, (Ints{0, 1, 2, 0, 1, 0, 1, 2, 3, 0}));
  EXPECT_EQ(first.lengths, (Ints{5, 5}));
  EXPECT_EQ(first.tokens, 10);
  EXPECT_EQ(first.next, (PipelineState{1, 5, 0}));
  // A document over the length is cut into pieces, each a document of its own.
  const Batch& second = batches[1];
  EXPECT_EQ(second.find("input_ids")->ints, (Ints{5, 5, 5, 5, 5, 5, 5, 5, 9, 9}));
  EXPECT_EQ(second.find(kDocumentIds)->ints, (Ints{1, 1, 1, 1, 1, 1, 1, 1, 0, 0}));
  EXPECT_EQ(second.find(kPositionIds)->ints, (Ints{0, 1, 2, 3, 4, 0, 1, 2, 0, 0}));
  EXPECT_EQ(second.find("labels")->ints,
            (Ints{-100, -100, -100, -100, -100, -100, -100, -100, -100, -100}));
  EXPECT_EQ(second.next, (PipelineState{2, 6, 0}));
}

TEST(Packing, AStateWithinADocument) {
  MemoryFileSystem fs;
  put_lists(fs, "r/a", {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}});
  BatchPipelineOptions options = packed(1, "4");
  const auto batches = take_batches(*open_batches(fs, options));
  ASSERT_EQ(batches.size(), 3u);
  EXPECT_EQ(batches[1].next, (PipelineState{2, 0, 8}));
  options.start = batches[1].next;
  const auto rest = take_batches(*open_batches(fs, options));
  ASSERT_EQ(rest.size(), 1u);
  expect_equal(rest[0], batches[2]);
  EXPECT_EQ(rest[0].find("input_ids")->ints, (Ints{9, 10, 11, 0}));
  options.start->offset = 1000;  // of another set: the document has no such value
  EXPECT_TRUE(take_batches(*open_batches(fs, options)).empty());
}

TEST(Packing, EndsOfEpochs) {
  MemoryFileSystem fs;
  put_lists(fs, "r/a", {{1, 1, 1}, {2, 2}, {3, 3}});
  BatchPipelineOptions options = packed(1, "5");
  options.epochs = 2;
  const auto rows = [&](Remainder remainder) {
    options.remainder = remainder;
    std::vector<Ints> all;
    for (const Batch& batch : take_batches(*open_batches(fs, options)))
      all.push_back(batch.find("input_ids")->ints);
    return all;
  };
  using Rows = std::vector<Ints>;
  EXPECT_EQ(rows(Remainder::kSpan), (Rows{{1, 1, 1, 2, 2}, {3, 3, 1, 1, 1}, {2, 2, 3, 3, 0}}));
  EXPECT_EQ(rows(Remainder::kKeep),
            (Rows{{1, 1, 1, 2, 2}, {3, 3, 0, 0, 0}, {1, 1, 1, 2, 2}, {3, 3, 0, 0, 0}}));
  EXPECT_EQ(rows(Remainder::kDrop), (Rows{{1, 1, 1, 2, 2}, {1, 1, 1, 2, 2}}));
  const auto stats = open_batches(fs, options)->stats();
  EXPECT_EQ(stats.steps_per_epoch, 2);
  EXPECT_TRUE(stats.steps_are_a_bound);
  options.batch_size = 9;
  options.epochs = 0;
  auto never = open_batches(fs, options)->next();
  ASSERT_FALSE(never.has_value());
  EXPECT_NE(never.error().to_string().find("do not fill a batch of 9 rows"), std::string::npos);
}

TEST(Packing, NothingToPack) {
  MemoryFileSystem fs;
  put_lists(fs, "r/a", {{}, {}});
  BatchPipelineOptions options = packed(1, "5");
  EXPECT_TRUE(take_batches(*open_batches(fs, options)).empty());
  options.epochs = 0;
  auto batch = open_batches(fs, options)->next();
  ASSERT_FALSE(batch.has_value());
  EXPECT_NE(batch.error().to_string().find("all records are empty"), std::string::npos);
  put_lists(fs, "r/a", {{1, 2}});
  options.start_step = 1;
  EXPECT_NE(open_batches_error(fs, options).find("not from a step"), std::string::npos);
  options.start_step = 0;
  fs.put("r/a", framed({serialize_example({{"input_ids", std::vector<int64_t>{1, 2}},
                                           {"labels", std::vector<int64_t>{1}}})}));
  EXPECT_NE(open_batches_error(fs, options).find("'labels' has 1 values, but 'input_ids' has 2"),
            std::string::npos);
}

// Documents hold their number, counted up: what comes out must be all of it, in order and apart.
RC_GTEST_PROP(Packing, EveryTokenOnceAndDocumentsApart, ()) {
  MemoryFileSystem fs;
  const auto count = *rc::gen::inRange<int64_t>(1, 80);
  Lists lists;
  int64_t tokens = 0;
  for (int64_t n = 0; n < count; ++n) {
    lists.emplace_back(*rc::gen::inRange<size_t>(0, 20));
    for (size_t i = 0; i < lists.back().size(); ++i)
      lists.back()[i] = 1000 * (n + 1) + static_cast<int64_t>(i);
    tokens += static_cast<int64_t>(lists.back().size());
  }
  put_lists(fs, "r/a", lists);
  BatchPipelineOptions options = packed(*rc::gen::inRange<int64_t>(1, 6), "8");
  options.order = BatchOrder::kShuffled;
  std::map<int64_t, int64_t> seen;  // of each document, the values so far
  for (const Batch& batch : take_batches(*open_batches(fs, options))) {
    const auto ids = rows_of(batch), documents = rows_of(batch, 3), positions = rows_of(batch, 2);
    for (size_t r = 0; r < ids.size(); ++r)
      for (size_t t = 0; t < 8; ++t) {
        if (documents[r][t] == 0) continue;
        tokens -= 1;
        const int64_t document = ids[r][t] / 1000;
        RC_ASSERT(ids[r][t] % 1000 == seen[document]++ || options.batch_size > 1);
        const bool begins = t == 0 || documents[r][t] != documents[r][t - 1];
        RC_ASSERT(positions[r][t] == (begins ? 0 : positions[r][t - 1] + 1));
        if (!begins) RC_ASSERT(ids[r][t] == ids[r][t - 1] + 1);
      }
  }
  RC_ASSERT(tokens == 0);
}

// Short documents of real-looking lengths fill the rows.
TEST(Packing, RowsAreWellFilled) {
  MemoryFileSystem fs;
  Lists lists;
  for (size_t n = 0; n < 3000; ++n) lists.emplace_back(5 + n * n % 61, 7);
  put_lists(fs, "r/a", lists);
  int64_t tokens = 0, places = 0;
  BatchPipelineOptions options = packed(32, "128");
  for (const Batch& batch : take_batches(*open_batches(fs, options)))
    tokens += batch.tokens, places += 32 * 128;
  EXPECT_GT(static_cast<double>(tokens) / static_cast<double>(places), 0.93);
}

}  // namespace
}  // namespace headwater
