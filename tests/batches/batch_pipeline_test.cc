// The general pipeline: tf.data's batches and orders, resuming, replicas, padding, counts, errors.
#include "batches/batch_pipeline.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "base/threads.h"
#include "batches/data_fingerprint.h"
#include "batches/examples.h"
#include "io/fault_files.h"

namespace headwater {
namespace {

Json golden(const char* name) {
  std::ifstream file(std::string(HW_TESTS_DIR) + "/golden/tfdata/tfdata_expected.json");
  return Json::parse(file)[name];
}

class BatchPipelineTest : public testing::Test {
 protected:
  BatchPipelineTest() {
    set_num_threads(1);
    options_.records = "r/*";
    options_.features = *parse_feature_specs("input_ids:int64[]");
    options_.order = BatchOrder::kSequential;
    options_.batch_size = 2;
    options_.epochs = 1;
  }
  ~BatchPipelineTest() override { set_num_threads(0); }

  void use_numbers(int64_t count) {
    put_numbers(fs_, "r/a", 0, count);
    options_.features = *parse_feature_specs("n:int64");
  }
  std::vector<std::vector<int64_t>> batches_of_numbers() {
    std::vector<std::vector<int64_t>> all;
    for (const Batch& batch : take_batches(*open_batches(fs_, options_)))
      all.push_back(headwater::numbers_of(batch));
    return all;
  }
  std::vector<int64_t> order_of_numbers() {
    std::vector<int64_t> all;
    for (const auto& batch : batches_of_numbers())
      all.insert(all.end(), batch.begin(), batch.end());
    return all;
  }
  std::string error() { return open_batches_error(fs_, options_); }

  MemoryFileSystem fs_;
  BatchPipelineOptions options_;
};

// --- tf.data's batches

TEST_F(BatchPipelineTest, PaddedBatchesAsTensorFlow) {
  put_lists(fs_, "r/a", {{1, 2, 3}, {4}, {}, {5, 6}});
  const auto expect = [&](const char* name) {
    std::vector<Lists> all;
    for (const Batch& batch : take_batches(*open_batches(fs_, options_)))
      all.push_back(rows_of(batch));
    EXPECT_EQ(all, golden(name).get<std::vector<Lists>>()) << name;
  };
  expect("padded_batch2_default");
  options_.padding = *parse_padding_values("input_ids=9");
  expect("padded_batch2_pad9");
  options_.padding = *parse_padding_values("input_ids=-100");
  options_.pad_to = *parse_pad_to("4");
  expect("padded_batch2_shape4");
  options_.padding.clear();
  options_.pad_to = *parse_pad_to("2");
  EXPECT_EQ(error(),
            "r/a: record 0 (counted from 0): feature 'input_ids' has 3 values, expected at most 2; "
            "allow a greater length, or have records cut (--truncate)");
  options_.pad_to = *parse_pad_to("longest");
  options_.padding = *parse_padding_values("input_ids=0.5");
  EXPECT_EQ(error(), "padding 0.5 does not fit feature 'input_ids' of int64");
  options_.padding.clear();
  options_.batch_size = 3;
  options_.remainder = Remainder::kDrop;
  expect("padded_batch3_drop");
}

TEST_F(BatchPipelineTest, RemaindersAsTensorFlow) {
  use_numbers(6);
  options_.batch_size = 4;
  options_.epochs = 2;
  const auto expect = [&](Remainder remainder, const char* name) {
    options_.remainder = remainder;
    EXPECT_EQ(batches_of_numbers(), golden(name).get<Lists>()) << name;
  };
  expect(Remainder::kSpan, "repeat2_batch4");
  expect(Remainder::kKeep, "batch4_repeat2");
  expect(Remainder::kDrop, "batch4drop_repeat2");
  use_numbers(7);
  options_.batch_size = 3;
  options_.epochs = 1;
  expect(Remainder::kKeep, "range7_batch3");
  expect(Remainder::kDrop, "range7_batch3_drop");
}

TEST_F(BatchPipelineTest, ShufflesAsTensorFlow) {
  use_numbers(10);
  options_.order = BatchOrder::kTf;
  const auto expect = [&](const char* name, const Json& expected) {
    EXPECT_EQ(order_of_numbers(), expected.get<std::vector<int64_t>>()) << name;
  };
  options_.tf.shuffle_buffer = 3;
  options_.tf.seed = 42;
  expect("new object", golden("shuffle_buf3_seed42_new_object"));
  options_.tf.global_seed = 5;
  expect("global", golden("global5_op42_buf3"));
  options_.tf.seed.reset();
  expect("global only", golden("global5_no_op_seed_buf3"));
  options_.tf.global_seed.reset();
  options_.tf.seed = 7;
  options_.tf.shuffle_buffer = 10;
  options_.epochs = 3;
  expect("repeat", golden("shuffle_buf10_seed7_repeat3"));
  options_.epochs = 2;
  options_.tf.reshuffle_each_iteration = false;
  expect("no reshuffle", golden("shuffle_buf10_seed7_noreshuffle_repeat2"));
  options_.tf.reshuffle_each_iteration = true;
  options_.tf.repeat_before_shuffle = true;
  expect("repeat first", golden("repeat_then_shuffle_buf10_seed7"));
}

TEST_F(BatchPipelineTest, InterleavesAsTensorFlow) {
  const auto put = [&](int64_t each) {
    for (int64_t file = 0; file < 3; ++file)
      put_numbers(fs_, fmt::format("r/{}", file), 10 * file, each);
  };
  options_.features = *parse_feature_specs("n:int64");
  options_.order = BatchOrder::kTf;
  options_.tf.cycle_length = 2;
  put(4);
  EXPECT_EQ(order_of_numbers(), golden("interleave_cycle2_block1").get<std::vector<int64_t>>());
  put(3);
  options_.tf.block_length = 2;
  EXPECT_EQ(order_of_numbers(), golden("interleave_cycle2_block2").get<std::vector<int64_t>>());
}

// tf.data's iterator goes on from a checkpoint of 3 kB; ours from three numbers.
TEST_F(BatchPipelineTest, GoesOnAsTensorFlowsIterator) {
  use_numbers(20);
  options_.order = BatchOrder::kTf;
  options_.tf.shuffle_buffer = 8;
  options_.tf.seed = 3;
  options_.tf.global_seed = 0;
  options_.epochs = 2;
  options_.batch_size = 3;
  const Json expected = golden("iterator_checkpoint");
  const auto first = take_batches(*open_batches(fs_, options_), 4);
  for (size_t i = 0; i < 4; ++i)
    EXPECT_EQ(headwater::numbers_of(first[i]), expected["first4"][i].get<std::vector<int64_t>>());
  options_.start = first.back().next;
  EXPECT_EQ(batches_of_numbers(), expected["rest"].get<Lists>());
}

TEST_F(BatchPipelineTest, PartsOfTheRecords) {
  use_numbers(10);
  options_.shards = 3;
  options_.shard = 1;
  options_.shard_by_record = true;
  EXPECT_EQ(order_of_numbers(), golden("shard_2_of_3").get<std::vector<int64_t>>());
  options_.shard_by_record = false;
  EXPECT_NE(error().find("part 1 of 3 holds none of the 10 records"), std::string::npos);
  put_numbers(fs_, "r/b", 20, 2);
  put_numbers(fs_, "r/c", 30, 2);
  EXPECT_EQ(order_of_numbers(), (std::vector<int64_t>{20, 21}));
}

// --- what a record lacks, and what it must not hold

TEST_F(BatchPipelineTest, FillsByName) {
  fs_.put("r/a", framed({serialize_example({{"input_ids", std::vector<int64_t>{5, 6, 7}},
                                            {"labels", std::vector<int64_t>{1, 2, 3}},
                                            {"w", std::vector<float>{0.5f}},
                                            {"s", std::vector<std::string>{"x"}}}),
                         serialize_example({{"input_ids", std::vector<int64_t>{8}},
                                            {"attention_mask", std::vector<int64_t>{1}},
                                            {"labels", std::vector<int64_t>{4}},
                                            {"w", std::vector<float>{}},
                                            {"s", std::vector<std::string>{"yy", "z"}}})}));
  options_.features = *parse_feature_specs(
      "labels:int64[], input_ids:int64[], attention_mask:int64[]?, token_type_ids:int64[]?, "
      "position_ids:int64[]?, w:float[]?, s:bytes[], label:int64=-1, box:float[2]=[1, 2]");
  options_.pad_id = 3;
  options_.padding = *parse_padding_values("w=0.25");
  options_.batch_size = 4;
  options_.remainder = Remainder::kKeep;
  const Batch batch = take_batches(*open_batches(fs_, options_)).at(0);
  EXPECT_EQ(batch.rows, 4);
  EXPECT_EQ(batch.real_rows, 2);
  EXPECT_EQ(batch.tokens, 4);
  EXPECT_EQ(batch.lengths, (std::vector<int32_t>{3, 1, 0, 0}));
  const auto rows = [&](const char* name) {
    std::vector<int32_t> ints = batch.find(name)->ints;
    ints.resize(static_cast<size_t>(2 * batch.find(name)->shape[1]));
    return ints;
  };
  using Ints = std::vector<int32_t>;
  EXPECT_EQ(rows("input_ids"), (Ints{5, 6, 7, 8, 3, 3}));
  EXPECT_EQ(rows("attention_mask"), (Ints{1, 1, 1, 1, 0, 0}));
  EXPECT_EQ(rows("token_type_ids"), (Ints{0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(rows("position_ids"), (Ints{0, 1, 2, 0, 0, 0}));
  EXPECT_EQ(rows("labels"), (Ints{1, 2, 3, 4, -100, -100}));
  EXPECT_EQ(batch.find("labels")->ints[11], -100);
  EXPECT_EQ(batch.find("input_ids")->ints[11], 3);
  EXPECT_EQ(batch.find("attention_mask")->ints[11], 0);
  EXPECT_EQ(batch.find("w")->floats, (std::vector<float>{0.5f, 0.25f, 0.25f, 0.25f}));
  EXPECT_EQ(batch.find("s")->texts[0], "x");
  EXPECT_EQ(batch.find("s")->texts[3], "z");
  EXPECT_EQ(batch.find("label")->ints, (Ints{-1, -1, -100, -100}));
  EXPECT_EQ(batch.find("label")->shape, (std::vector<int64_t>{4}));
  EXPECT_EQ(batch.find("box")->shape, (std::vector<int64_t>{4, 2}));
  EXPECT_EQ(batch.find("box")->floats[3], 2);
  EXPECT_EQ(batch.find("nothing"), nullptr);
  EXPECT_EQ(batch.provenance(), "r/a: records 0-1");
  EXPECT_GT(batch.byte_size(), 4 * 3 * 4);
}

TEST_F(BatchPipelineTest, WidthsOfBuckets) {
  put_lists(fs_, "r/a", {{1}, {1, 2}, {1, 2, 3}, {1, 2, 3, 4, 5}, {1}, {1}, {}, {}});
  const auto widths = [&](const char* pad_to) {
    options_.pad_to = *parse_pad_to(pad_to);
    std::vector<int64_t> all;
    for (const Batch& batch : take_batches(*open_batches(fs_, options_)))
      all.push_back(batch.features[0].shape[1]);
    return all;
  };
  using W = std::vector<int64_t>;
  EXPECT_EQ(widths("longest"), (W{2, 5, 1, 1}));
  EXPECT_EQ(widths("multiple:4"), (W{4, 8, 4, 4}));
  EXPECT_EQ(widths("2,4,6"), (W{2, 6, 2, 2}));
  EXPECT_EQ(widths(" 8 "), (W{8, 8, 8, 8}));
  EXPECT_EQ(open_batches(fs_, options_)->stats().widths, 1);
  options_.truncate = true;
  EXPECT_EQ(widths("2,3"), (W{2, 3, 2, 2}));
  options_.max_length = 2;
  EXPECT_EQ(widths("longest"), (W{2, 2, 1, 1}));
}

// Case B040, with a file that mixes lengths.
TEST_F(BatchPipelineTest, MixedLengthsOfTheCaseLog) {
  options_.records =
      std::string(HW_TESTS_DIR) + "/golden/tfrecord/cases/tfr_mixed_seq_len.tfrecord";
  options_.features = *parse_feature_specs("input_ids:int64[32]");
  const std::string message = open_batches_error(local_files(), options_);
  EXPECT_NE(message.find("tfr_mixed_seq_len.tfrecord: record 1 (counted from 0): feature "
                         "'input_ids' has 64 values, expected 32"),
            std::string::npos)
      << message;
  options_.features = *parse_feature_specs("input_ids:int64[]");
  options_.pad_to = *parse_pad_to("32,64");
  options_.batch_size = 1;
  std::set<int64_t> widths;
  for (const Batch& batch : take_batches(*open_batches(local_files(), options_)))
    widths.insert(batch.features[0].shape[1]);
  EXPECT_EQ(widths, (std::set<int64_t>{32, 64}));
}

TEST_F(BatchPipelineTest, WhatRecordsMustNotHold) {
  const auto message = [&](const Example& example) {
    fs_.put("r/a", framed({serialize_example(example)}));
    return error();
  };
  const std::string where = "r/a: record 0 (counted from 0): ";
  EXPECT_EQ(message({{"ids", std::vector<int64_t>{1}}}),
            where +
                "feature 'input_ids' is missing; found: ids (1 int64); build the records again "
                "with this feature");
  EXPECT_EQ(message({{"input_ids", std::vector<float>{1}}}),
            where + "feature 'input_ids' holds float, expected int64");
  EXPECT_EQ(message({{"input_ids", std::vector<int64_t>{1, int64_t{1} << 40}}}),
            where + "feature 'input_ids': value 1099511627776 at position 1 does not fit 32 bits");
  options_.vocab_size = 10;
  EXPECT_NE(message({{"input_ids", std::vector<int64_t>{9, 10}}})
                .find("value 10 at position 1 is not below 10"),
            std::string::npos);
  EXPECT_NE(message({{"input_ids", std::vector<int64_t>{-1}}}).find("value -1"), std::string::npos);
  options_.features = *parse_feature_specs("attention_mask:int64[]?, input_ids:int64[]");
  EXPECT_EQ(message({{"input_ids", std::vector<int64_t>{1, 2}},
                     {"attention_mask", std::vector<int64_t>{1}}}),
            where + "feature 'attention_mask' has 1 values, but 'input_ids' has 2");
}

TEST_F(BatchPipelineTest, DamageByPolicy) {
  std::string bytes = framed({serialize_example({{"n", std::vector<int64_t>{0}}}),
                              serialize_example({{"m", std::vector<int64_t>{1}}}),
                              serialize_example({{"n", std::vector<int64_t>{2}}})});
  fs_.put("r/a", bytes);
  options_.features = *parse_feature_specs("n:int64");
  EXPECT_NE(error().find("record 1"), std::string::npos);
  options_.damage_policy = DamagePolicy::kSkip;
  EXPECT_EQ(order_of_numbers(), (std::vector<int64_t>{0, 2}));
  EXPECT_EQ(open_batches(fs_, options_)->stats().damaged, 1);
}

// --- replicas, counts, resuming

TEST(PerReplicaBatch, DividesOrFails) {
  EXPECT_EQ(*per_replica_batch(32, 8), 4);
  EXPECT_EQ(per_replica_batch(32, 5).error().to_string(),
            "a batch of 32 cannot be divided among 5 replicas; use 30 or 35");
  EXPECT_EQ(per_replica_batch(3, 8).error().to_string(),
            "a batch of 3 cannot be divided among 8 replicas; use 8");
  EXPECT_FALSE(per_replica_batch(0, 1).has_value());
  EXPECT_FALSE(per_replica_batch(8, 0).has_value());
}

TEST_F(BatchPipelineTest, Counts) {
  put_lists(fs_, "r/a", {{1, 2, 3}, {4}, {}, {5, 6}, {7}});
  put_lists(fs_, "r/b", {{1, 2}});
  options_.batch_size = 4;
  options_.replicas = 2;
  const auto stats = open_batches(fs_, options_)->stats();
  EXPECT_EQ(stats.shards, 2);
  EXPECT_EQ(stats.examples, 6);
  EXPECT_EQ(stats.tokens, 9);
  EXPECT_EQ(stats.steps_per_epoch, 2);  // rounded up
  EXPECT_FALSE(stats.steps_are_a_bound);
  EXPECT_EQ(stats.rows, 2);
  EXPECT_EQ(stats.widths, 0);
  options_.remainder = Remainder::kDrop;
  EXPECT_EQ(open_batches(fs_, options_)->stats().steps_per_epoch, 1);
  options_.replicas = 3;
  EXPECT_NE(error().find("cannot be divided among 3 replicas"), std::string::npos);
}

TEST_F(BatchPipelineTest, HeldOutTokensAreCounted) {
  Lists lists;
  for (int64_t n = 0; n < 100; ++n) lists.emplace_back(static_cast<size_t>(n % 7 + 1), n);
  put_lists(fs_, "r/a", lists);
  options_.held_out_fraction = 0.2;
  options_.split = Split::kTrain;
  const auto train = open_batches(fs_, options_);
  options_.split = Split::kHeldOut;
  auto opened = BatchPipeline::open(fs_, options_, train->record_set());
  ASSERT_TRUE(opened.has_value());
  for (BatchPipeline* pipeline : {train.get(), opened->get()}) {
    int64_t records = 0, tokens = 0;
    for (const Batch& batch : take_batches(*pipeline))
      records += batch.real_rows, tokens += batch.tokens;
    EXPECT_EQ(records, pipeline->stats().examples);
    EXPECT_EQ(tokens, pipeline->stats().tokens);
  }
  EXPECT_EQ(train->stats().examples + (*opened)->stats().examples, 100);
}

BatchPipelineOptions any_options(int64_t records) {
  BatchPipelineOptions o;
  o.records = "r/*";
  o.features = *parse_feature_specs("input_ids:int64[], attention_mask:int64[]?");
  o.order = *rc::gen::element(BatchOrder::kShuffled, BatchOrder::kSequential, BatchOrder::kTf);
  o.seed = *rc::gen::inRange<uint64_t>(0, 100);
  o.shuffle_buffer_records = *rc::gen::inRange<int64_t>(1, 300);
  o.tf.shuffle_buffer = *rc::gen::inRange<int64_t>(0, 50);
  o.tf.cycle_length = *rc::gen::inRange<int64_t>(1, 4);
  o.tf.shuffle_files = *rc::gen::arbitrary<bool>();
  o.tf.seed = *rc::gen::inRange<int64_t>(0, 100);
  o.remainder = *rc::gen::element(Remainder::kSpan, Remainder::kKeep, Remainder::kDrop);
  o.tf.repeat_before_shuffle = o.remainder == Remainder::kSpan && *rc::gen::arbitrary<bool>();
  o.pack = *rc::gen::arbitrary<bool>();
  if (o.pack) o.pad_to = *parse_pad_to("8");
  o.batch_size = *rc::gen::inRange<int64_t>(1, std::max<int64_t>(2, records / (o.pack ? 12 : 1)));
  o.epochs = *rc::gen::inRange<int64_t>(0, 4);
  o.prefetch_batches = *rc::gen::inRange<int64_t>(1, 4);
  return o;
}

void put_any_records(MemoryFileSystem& fs, int64_t records) {
  std::vector<Lists> files(3);
  for (int64_t n = 0; n < records; ++n)
    files[static_cast<size_t>(n % 3)].emplace_back(static_cast<size_t>(n * n % 13 + 1), n);
  for (size_t f = 0; f < files.size(); ++f) put_lists(fs, fmt::format("r/{}", f), files[f]);
}

// An epoch that ends with its last row leaves no remainder to drop: 1 + 2 + 5 values in a row of 8.
TEST(PackedBatches, AFullLastBatchIsKept) {
  MemoryFileSystem fs;
  put_any_records(fs, 3);
  BatchPipelineOptions options;
  options.records = "r/*";
  options.features = *parse_feature_specs("input_ids:int64[]");
  options.remainder = Remainder::kDrop;
  options.pack = true;
  options.pad_to = *parse_pad_to("8");
  options.batch_size = 1;
  options.epochs = 2;
  const auto batches = take_batches(*open_batches(fs, options));
  ASSERT_EQ(batches.size(), 2u);
  for (const Batch& batch : batches) EXPECT_EQ(batch.tokens, 8);
}

// Whatever the order, the remainder and the packing: a run that goes on from any batch's state is
// the unbroken run, and on any number of replicas the rows are the same.
RC_GTEST_PROP(BatchPipelineProperty, ResumesAnywhereOnAnyReplicas, ()) {
  MemoryFileSystem fs;
  const auto records = *rc::gen::inRange<int64_t>(3, 120);
  put_any_records(fs, records);
  BatchPipelineOptions options = any_options(records);
  auto opened = BatchPipeline::open(fs, options);
  RC_ASSERT(opened.has_value());
  const auto whole = take_batches(**opened, 30);
  RC_ASSERT(!whole.empty());
  const auto from = *rc::gen::inRange<size_t>(0, whole.size());
  options.start = from == 0 ? PipelineState() : whole[from - 1].next;
  const auto resumed = take_batches(*open_batches(fs, options), 30 - from);
  RC_ASSERT(resumed.size() == whole.size() - from);
  for (size_t i = 0; i < resumed.size(); ++i) expect_equal(resumed[i], whole[from + i]);
  RC_ASSERT(!testing::Test::HasFailure());
  if (!options.pack) {
    options.start.reset();
    options.start_step = static_cast<int64_t>(from);
    const auto started = take_batches(*open_batches(fs, options), 1);
    RC_ASSERT(!started.empty());
    expect_equal(started[0], whole[from]);
  }
  options.start.reset();
  options.start_step = 0;
  options.replicas = options.batch_size;
  options.replica = *rc::gen::inRange<int64_t>(0, options.replicas);
  const auto own = take_batches(*open_batches(fs, options), whole.size());
  RC_ASSERT(own.size() == whole.size());
  for (size_t i = 0; i < own.size(); ++i) {
    const BatchFeature &mine = own[i].features[0], &all = whole[i].features[0];
    const auto first = all.ints.begin() + options.replica * all.shape[1];
    RC_ASSERT(mine.ints == std::vector<int32_t>(first, first + all.shape[1]));
    RC_ASSERT(own[i].next == whole[i].next);
  }
}

TEST_F(BatchPipelineTest, StateInJson) {
  const PipelineState state = {7, 1 << 20, 3};
  EXPECT_EQ(*state_from_json(state_to_json(state)), state);
  for (const char* text : {"3", "{}", "{\"step\": 1, \"position\": 2}",
                           "{\"step\": -1, \"position\": 2, \"offset\": 0}",
                           "{\"step\": 1.5, \"position\": 2, \"offset\": 0}"})
    EXPECT_FALSE(state_from_json(Json::parse(text)).has_value()) << text;
}

TEST_F(BatchPipelineTest, FingerprintSaysWhatTheBatchesHangOn) {
  use_numbers(5);
  const Json before = open_batches(fs_, options_)->fingerprint();
  options_.replicas = 2;
  options_.prefetch_batches = 1;
  EXPECT_TRUE(check_same_data(before, open_batches(fs_, options_)->fingerprint()).has_value());
  options_.pad_id = 1;
  const auto differs = check_same_data(before, open_batches(fs_, options_)->fingerprint());
  EXPECT_NE(differs.error().to_string().find("pad_id was 0"), std::string::npos);
  options_.pad_id = 0;
  use_numbers(6);
  const auto other = check_same_data(before, open_batches(fs_, options_)->fingerprint());
  EXPECT_NE(other.error().to_string().find("a is not the file"), std::string::npos);
}

// --- ends and failures

TEST_F(BatchPipelineTest, EndsCleanlyAtAnyTime) {
  use_numbers(9);
  options_.epochs = 0;
  for (size_t taken = 0; taken < 12; ++taken) take_batches(*open_batches(fs_, options_), taken);
  options_.epochs = 2;
  const auto pipeline = open_batches(fs_, options_);
  EXPECT_EQ(take_batches(*pipeline).size(), 9u);
  EXPECT_FALSE(pipeline->next()->has_value());
  EXPECT_GE(pipeline->stats().data_wait_seconds, 0);
}

TEST_F(BatchPipelineTest, ReadFaultsAreErrorsNotHangs) {
  use_numbers(40);
  for (const BatchOrder order : {BatchOrder::kShuffled, BatchOrder::kTf}) {
    options_.order = order;
    for (int64_t n = 1; n < 12; ++n) {
      FaultFileSystem faulty(fs_);
      faulty.fail_read_at(n);
      auto pipeline = BatchPipeline::open(faulty, options_);
      if (!pipeline) continue;
      for (int i = 0; i < 30; ++i)
        if (auto batch = (*pipeline)->next(); !batch || !*batch) break;
    }
  }
}

TEST_F(BatchPipelineTest, AFileThatChangesIsAnErrorThatStays) {
  use_numbers(1000);
  options_.order = BatchOrder::kShuffled;
  options_.shuffle_buffer_records = 1;
  options_.prefetch_batches = 1;
  const auto pipeline = open_batches(fs_, options_);
  fs_.put("r/a", "gone");
  std::string message;
  for (int i = 0; i < 500 && message.empty(); ++i)
    if (auto batch = pipeline->next(); !batch) message = batch.error().to_string();
  ASSERT_NE(message.find("r/a: record"), std::string::npos);
  const auto again = pipeline->next();
  ASSERT_FALSE(again.has_value());
  EXPECT_EQ(again.error().to_string(), message);
}

TEST_F(BatchPipelineTest, OptionsOutOfRange) {
  use_numbers(5);
  const auto rejects = [&](const char* says, auto change) {
    const BatchPipelineOptions before = options_;
    change(options_);
    EXPECT_NE(error().find(says), std::string::npos) << error();
    options_ = before;
  };
  using Options = BatchPipelineOptions;
  rejects("cannot be divided", [](Options& o) { o.batch_size = 0; });
  rejects("replica must", [](Options& o) { o.replica = 1; });
  rejects("shard must", [](Options& o) { o.shard = 1; });
  rejects("epochs must", [](Options& o) { o.epochs = -1; });
  rejects("no features", [](Options& o) { o.features.clear(); });
  rejects("no such feature", [](Options& o) { o.padding = {{"x", 1}}; });
  rejects("held-out share", [](Options& o) { o.held_out_fraction = 0.9; });
  rejects("start step", [](Options& o) { o.start_step = -1; });
  rejects("position", [](Options& o) { o.start = PipelineState{0, -1, 0}; });
  rejects("offset", [](Options& o) { o.start = PipelineState{0, 0, 1}; });
  rejects("prefetched batches", [](Options& o) { o.prefetch_batches = 0; });
  rejects("do not fill a batch", [](Options& o) {
    o.remainder = Remainder::kDrop;
    o.batch_size = 6;
  });
  rejects("only with a seed", [](Options& o) {
    o.order = BatchOrder::kTf;
    o.tf.shuffle_buffer = 2;
  });
  rejects("no epoch has a remainder", [](Options& o) {
    o.order = BatchOrder::kTf;
    o.tf.repeat_before_shuffle = true;
    o.remainder = Remainder::kKeep;
  });
  rejects("packed rows have one length", [](Options& o) { o.pack = true; });
  rejects("cannot be packed", [](Options& o) {
    o.pack = true;
    o.pad_to = *parse_pad_to("8");
  });
}

TEST(Padding, Texts) {
  for (const char* text : {"longest", "multiple:64", "128", "64,128,512"})
    EXPECT_EQ(pad_to_text(*parse_pad_to(text)), text);
  for (const char* text : {"", "x", "0", "-1", "multiple:", "multiple:0", "64,64", "128,64", "1,,2",
                           "99999999999", "multiple:1,2"})
    EXPECT_FALSE(parse_pad_to(text).has_value()) << text;
  const auto values = *parse_padding_values("labels=-1, w = 0.5");
  ASSERT_EQ(values.size(), 2u);
  EXPECT_EQ(values[1].feature, "w");
  EXPECT_EQ(values[1].value, 0.5);
  EXPECT_TRUE(parse_padding_values("")->empty());
  for (const char* text : {"labels", "=1", "a=x", "a=1,"})
    EXPECT_FALSE(parse_padding_values(text).has_value()) << text;
}

// --- what opening finds out, kept for the next start

class RecordSetCacheTest : public BatchPipelineTest {
 protected:
  RecordSetCacheTest() {
    put_lists(fs_, "r/a", {{1, 2, 3}, {4}, {}, {5, 6}});
    put_lists(fs_, "r/b", {{7}, {8, 9}});
    options_.order = BatchOrder::kShuffled;
    options_.cache_file = "cache.json";
  }
  std::vector<Batch> batches() { return take_batches(*open_batches(fs_, options_)); }
  void expect_same_as_without() {
    const std::vector<Batch> cached = batches();
    BatchPipelineOptions plain = options_;
    plain.cache_file.clear();
    const std::vector<Batch> read = take_batches(*open_batches(fs_, plain));
    ASSERT_EQ(cached.size(), read.size());
    for (size_t i = 0; i < read.size(); ++i) expect_equal(cached[i], read[i]);
  }
};

TEST_F(RecordSetCacheTest, UnchangedShardsAreNotReadAgain) {
  options_.prefetch_batches = 1;
  expect_same_as_without();
  ASSERT_TRUE(fs_.files().contains("cache.json"));
  const auto set = open_batches(fs_, options_)->record_set();
  const auto open_only = [&] {  // without the thread that reads batches ahead
    FaultFileSystem counting(fs_);
    RecordSetOptions options;
    options.cache_file = "plain.json";
    const auto opened = RecordSet::open(counting, "r/*", options);
    EXPECT_TRUE(opened);
    EXPECT_EQ((*opened)->records(), 6);
    return counting.reads();
  };
  const int64_t first = open_only(), second = open_only();
  EXPECT_GT(first, second);
  EXPECT_LE(second, 3);  // of the cache itself, its end included
  expect_same_as_without();
}

TEST_F(RecordSetCacheTest, WhereItsFolderIsMadeLaterItIsWrittenThen) {
  options_.cache_file = "run/cache.json";
  options_.held_out_fraction = 0.4;  // with sizes
  const auto pipeline = open_batches(fs_, options_);
  EXPECT_FALSE(fs_.files().contains("run/cache.json"));
  ASSERT_TRUE(fs_.make_directories("run"));
  pipeline->record_set()->write_cache();
  const std::string late = fs_.files().at("run/cache.json");
  ASSERT_TRUE(fs_.remove("run/cache.json"));
  open_batches(fs_, options_);
  EXPECT_EQ(fs_.files().at("run/cache.json"), late);
  expect_same_as_without();
}

TEST_F(RecordSetCacheTest, AChangedShardIsReadAnew) {
  batches();
  put_lists(fs_, "r/b", {{7}, {8, 10}});  // the same size
  expect_same_as_without();
  put_lists(fs_, "r/c", {{11}});
  expect_same_as_without();
  EXPECT_EQ(open_batches(fs_, options_)->stats().examples, 7);
  ASSERT_TRUE(fs_.remove("r/a"));
  expect_same_as_without();
  EXPECT_EQ(open_batches(fs_, options_)->stats().examples, 3);
}

TEST_F(RecordSetCacheTest, OtherChecksAreMadeAnew) {
  batches();
  options_.vocab_size = 9;
  EXPECT_NE(error().find("9"), std::string::npos);
  options_.vocab_size = 0;
  options_.max_length = 2;
  EXPECT_NE(error().find("has 3 values"), std::string::npos);
  options_.max_length = 0;
  options_.features = *parse_feature_specs("input_ids:int64[], label:int64");
  EXPECT_NE(error().find("label"), std::string::npos);
}

TEST_F(RecordSetCacheTest, SizesAreKeptWhereTheyAreAskedFor) {
  batches();
  options_.held_out_fraction = 0.4;
  options_.split = Split::kTrain;
  expect_same_as_without();
  expect_same_as_without();
}

TEST_F(RecordSetCacheTest, CompressedAndDamagedShardsAreReadInAnyCase) {
  options_.damage_policy = DamagePolicy::kSkip;
  std::string damaged = fs_.files().at("r/b");
  damaged[damaged.size() - 6] ^= 1;
  fs_.put("r/b", damaged);
  batches();
  const Json cache = Json::parse(fs_.files().at("cache.json"));
  ASSERT_EQ(cache["shards"].size(), 1u);
  EXPECT_EQ(cache["shards"][0]["path"], "r/a");
  EXPECT_EQ(open_batches(fs_, options_)->stats().damaged, 1);
}

TEST_F(RecordSetCacheTest, ADamagedCacheCostsOnlyTime) {
  batches();
  const std::string good = fs_.files().at("cache.json");
  for (size_t cut = 0; cut < good.size(); cut += 7) {
    fs_.put("cache.json", good.substr(0, cut));
    expect_same_as_without();
  }
  for (const char* odd : {"[]", "null", "{\"headwater_record_cache\": 1}", "\"x\""}) {
    fs_.put("cache.json", odd);
    expect_same_as_without();
  }
}

TEST_F(RecordSetCacheTest, ALyingCacheIsFoundOutWhenItIsUsed) {
  batches();
  Json cache = Json::parse(fs_.files().at("cache.json"));
  Json& blocks = cache["shards"][0]["blocks"];
  blocks[1] = blocks[1].get<int64_t>() + 1;
  blocks[2] = blocks[2].get<int64_t>() - 1;
  fs_.put("cache.json", cache.dump());
  const auto batch = open_batches(fs_, options_)->next();
  ASSERT_FALSE(batch);
  EXPECT_NE(batch.error().to_string().find("not what it was when it was checked"),
            std::string::npos);
}

TEST_F(RecordSetCacheTest, SizesThatDoNotFillTheirBlocksDoNotCount) {
  options_.held_out_fraction = 0.4;
  options_.split = Split::kTrain;
  batches();
  const Json good = Json::parse(fs_.files().at("cache.json"));
  ASSERT_FALSE(good["shards"][0]["sizes"].empty());
  for (const uint32_t size : {0u, 1u, UINT32_MAX}) {
    Json cache = good;
    cache["shards"][0]["sizes"][0] = size;
    fs_.put("cache.json", cache.dump());
    expect_same_as_without();
  }
}

TEST_F(RecordSetCacheTest, NoCacheIsWrittenToAFullDisk) {
  FaultFileSystem full(fs_);
  full.fill_disk_at(1);
  BatchPipelineOptions plain = options_;
  const auto pipeline = BatchPipeline::open(full, plain);
  ASSERT_TRUE(pipeline) << pipeline.error().to_string();
  EXPECT_EQ(take_batches(**pipeline).size(), 3u);
}

}  // namespace
}  // namespace headwater
