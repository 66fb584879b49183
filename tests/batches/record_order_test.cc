#include "batches/record_order.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "batches/record_cursor.h"
#include "batches/shards.h"
#include "io/fault_files.h"

namespace headwater {
namespace {

constexpr int64_t kLength = 8;

std::shared_ptr<const RecordSet> open_set(FileSystem& fs, const RecordSetOptions& options = {}) {
  auto set = RecordSet::open(fs, "r/*", options);
  EXPECT_TRUE(set.has_value()) << set.error().to_string();
  return set.value_or(nullptr);
}

// The number that make_record put in.
int32_t number_of(std::string_view payload) {
  return static_cast<int32_t>(
             std::get<std::vector<int64_t>>(parse_example(payload)->at("input_ids"))[1]) -
         100;
}

std::vector<int32_t> take(const RecordOrder& order, int64_t position, int64_t count) {
  RecordCursor cursor(order, position);
  std::vector<int32_t> numbers;
  for (int64_t i = 0; i < count; ++i) {
    auto record = cursor.next();
    EXPECT_TRUE(record.has_value()) << record.error().to_string();
    numbers.push_back(number_of(record->payload));
  }
  return numbers;
}

std::vector<int32_t> sorted(std::vector<int32_t> numbers) {
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

std::vector<int32_t> count_up(int32_t n) {
  std::vector<int32_t> numbers(static_cast<size_t>(n));
  for (int32_t i = 0; i < n; ++i) numbers[static_cast<size_t>(i)] = i;
  return numbers;
}

TEST(RecordSet, BlocksCoverEveryRecordOnce) {
  MemoryFileSystem fs;
  put_shards(fs, 1500, 3, kLength);
  const auto set = open_set(fs);
  EXPECT_EQ(set->records(), 1500);
  EXPECT_EQ(set->shards().size(), 3u);
  EXPECT_EQ(set->blocks().size(), 6u);  // 500 records a shard: 256 and 244
  std::vector<int32_t> seen;
  for (const RecordBlock& block : set->blocks()) {
    int32_t next = 0;
    ASSERT_TRUE(set->read_block(block,
                                [&](int32_t i, std::string_view payload) -> Result<> {
                                  EXPECT_EQ(i, next++);
                                  seen.push_back(number_of(payload));
                                  EXPECT_EQ(seen.back(),
                                            (block.first_record + i) * 3 + block.shard);
                                  return {};
                                })
                    .has_value());
  }
  EXPECT_EQ(sorted(seen), count_up(1500));
}

TEST(RecordOrder, EveryRecordOncePerEpochInANewOrder) {
  MemoryFileSystem fs;
  put_shards(fs, 1000, 4, kLength);
  RecordOrderOptions options;
  options.window_records = 300;
  const auto order = *RecordOrder::create(open_set(fs), options);
  const auto run = take(order, 0, 3000);
  std::set<std::vector<int32_t>> epochs;
  for (int64_t e = 0; e < 3; ++e) {
    const std::vector<int32_t> epoch(run.begin() + e * 1000, run.begin() + (e + 1) * 1000);
    EXPECT_EQ(sorted(epoch), count_up(1000));
    epochs.insert(epoch);
  }
  EXPECT_EQ(epochs.size(), 3u);
  EXPECT_EQ(take(order, 0, 3000), run);
  options.seed = 1;
  EXPECT_NE(take(*RecordOrder::create(open_set(fs), options), 0, 1000),
            std::vector<int32_t>(run.begin(), run.begin() + 1000));
}

TEST(RecordOrder, WithoutShufflingAsTheyStand) {
  MemoryFileSystem fs;
  put_shards(fs, 9, 2, kLength);
  RecordOrderOptions options;
  options.shuffle = false;
  EXPECT_EQ(take(*RecordOrder::create(open_set(fs), options), 0, 11),
            (std::vector<int32_t>{0, 2, 4, 6, 8, 1, 3, 5, 7, 0, 2}));
}

RC_GTEST_PROP(RecordOrder, StartsAnywhere, ()) {
  MemoryFileSystem fs;
  const auto records = *rc::gen::inRange(1, 700);
  put_shards(fs, records, *rc::gen::inRange(1, 5), kLength);
  RecordOrderOptions options;
  options.window_records = *rc::gen::inRange(1, 400);
  options.window_bytes = *rc::gen::inRange<int64_t>(1, 100000);
  options.seed = *rc::gen::inRange<uint64_t>(0, 1000);
  const auto order = *RecordOrder::create(open_set(fs), options);
  const auto whole = take(order, 0, 3 * records);
  RC_ASSERT(sorted({whole.begin(), whole.begin() + records}) == count_up(records));
  const auto start = *rc::gen::inRange<int64_t>(0, 3 * records);
  RC_ASSERT(take(order, start, 3 * records - start) ==
            std::vector<int32_t>(whole.begin() + start, whole.end()));
}

// Case B047: the buffer is bounded by bytes, and does not grow from epoch to epoch.
TEST(RecordOrder, MemoryIsBoundedAndFlat) {
  MemoryFileSystem fs;
  put_shards(fs, 6000, 3, 64);
  const auto set = open_set(fs);
  RecordOrderOptions options;
  options.window_records = 1 << 30;
  options.window_bytes = 100000;
  const auto order = *RecordOrder::create(set, options);
  const int64_t bound = 2 * 2 * order.window_bytes();  // two windows, and room that strings keep
  EXPECT_LT(order.window_bytes(), 100000 + RecordSet::kBlockBytes);
  RecordCursor cursor(order, 0);
  for (int i = 0; i < 20 * 6000; ++i) {
    ASSERT_TRUE(cursor.next().has_value());
    ASSERT_LE(cursor.buffered_bytes(), bound) << i;
  }
}

class HeldOut : public testing::TestWithParam<int32_t> {};

TEST_P(HeldOut, SplitsAreDisjointAndComplete) {
  MemoryFileSystem fs;
  const int32_t records = GetParam();
  put_shards(fs, records, 4, kLength);
  const auto set = open_set(fs);
  RecordOrderOptions options;
  options.held_out_fraction = 0.1;
  options.split = Split::kTrain;
  const auto train = *RecordOrder::create(set, options);
  options.split = Split::kHeldOut;
  options.seed = 99;  // moves nothing
  const auto held_out = *RecordOrder::create(set, options);
  ASSERT_GT(held_out.records(), 0);
  ASSERT_GT(train.records(), 0);
  auto both = take(train, 0, train.records());
  const auto eval = take(held_out, 0, held_out.records());
  both.insert(both.end(), eval.begin(), eval.end());
  EXPECT_EQ(sorted(both), count_up(records));
  if (records > 100) {
    EXPECT_NEAR(static_cast<double>(held_out.records()), 0.1 * records, 0.05 * records);
  }
}
INSTANTIATE_TEST_SUITE_P(Sizes, HeldOut, testing::Values(2, 3, 20, 2000));

TEST(RecordOrder, NothingLeftIsAnError) {
  MemoryFileSystem fs;
  put_shards(fs, 1, 1, kLength);
  RecordOrderOptions options;
  options.held_out_fraction = 0.1;
  options.split = Split::kTrain;
  const auto order = RecordOrder::create(open_set(fs), options);
  ASSERT_FALSE(order.has_value());
  EXPECT_NE(order.error().to_string().find("none for training"), std::string::npos);
}

TEST(RecordSet, AFileThatChangesIsNoticed) {
  MemoryFileSystem fs;
  put_shards(fs, 600, 1, kLength);
  const auto order = *RecordOrder::create(open_set(fs), {});
  std::string content = fs.files().at("r/data-000");
  content[content.size() / 2] ^= 1;
  fs.put("r/data-000", content);
  RecordCursor cursor(order, 0);
  const auto record = cursor.next();
  ASSERT_FALSE(record.has_value());
  EXPECT_NE(record.error().to_string().find("r/data-000: record"), std::string::npos);
  fs.put("r/data-000", content.substr(0, 10));
  RecordCursor again(order, 0);
  EXPECT_FALSE(again.next().has_value());
}

TEST(RecordSet, ReadErrorsSurface) {
  MemoryFileSystem memory;
  put_shards(memory, 600, 2, kLength);
  FaultFileSystem counting(memory);
  take(*RecordOrder::create(open_set(counting), {}), 0, 600);
  for (int64_t n = 1; n <= counting.reads(); ++n) {
    FaultFileSystem faulty(memory);
    faulty.fail_read_at(n);
    auto set = RecordSet::open(faulty, "r/*", {});
    if (!set) continue;
    const auto order = *RecordOrder::create(*set, {});
    RecordCursor cursor(order, 0);
    bool failed = false;
    for (int i = 0; i < 600 && !failed; ++i) failed = !cursor.next().has_value();
    EXPECT_TRUE(failed) << n;
  }
}

}  // namespace
}  // namespace headwater
