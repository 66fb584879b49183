// Orders of tf.data: every order that TensorFlow wrote down (tests/golden/tfdata), and properties.
#include "batches/tf_data.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/json.h"

namespace headwater {
namespace {

using Order = std::vector<int64_t>;

Json golden(const char* name) {
  std::ifstream file(std::string(HW_TESTS_DIR) + "/golden/tfdata/tfdata_expected.json");
  return Json::parse(file)[name];
}

Order take(const NumberSet& set, int64_t most = 1000) {
  Order order;
  const Numbers numbers = set();
  while (most-- > 0) {
    const auto number = numbers();
    if (!number) break;
    order.push_back(*number);
  }
  return order;
}

std::vector<Order> batches(const NumberSet& set, size_t size, bool drop) {
  std::vector<Order> all;
  for (const int64_t number : take(set)) {
    if (all.empty() || all.back().size() == size) all.emplace_back();
    all.back().push_back(number);
  }
  if (drop && !all.empty() && all.back().size() < size) all.pop_back();
  return all;
}

TEST(TfData, ShuffleAsTensorFlow) {
  const NumberSet ten = tf_range(0, 10);
  const TfSeeds seeds42 = tf_seeds({}, 42), seeds7 = tf_seeds({}, 7);
  const NumberSet twice = tf_shuffle(ten, 3, seeds42, true);
  const Json expected = golden("shuffle_buf3_seed42_twice_same_object");
  EXPECT_EQ(take(twice), expected[0].get<Order>());
  EXPECT_EQ(take(twice), expected[1].get<Order>());
  EXPECT_EQ(take(tf_shuffle(ten, 3, seeds42, true)),
            golden("shuffle_buf3_seed42_new_object").get<Order>());
  const NumberSet same = tf_shuffle(ten, 3, seeds42, false);
  const Json unchanged = golden("shuffle_buf3_seed42_no_reshuffle_x2");
  EXPECT_EQ(take(same), unchanged[0].get<Order>());
  EXPECT_EQ(take(same), unchanged[1].get<Order>());
  EXPECT_EQ(take(tf_repeat(tf_shuffle(ten, 10, seeds7, true), 3)),
            golden("shuffle_buf10_seed7_repeat3").get<Order>());
  EXPECT_EQ(take(tf_repeat(tf_shuffle(ten, 10, seeds7, false), 2)),
            golden("shuffle_buf10_seed7_noreshuffle_repeat2").get<Order>());
  EXPECT_EQ(take(tf_shuffle(tf_repeat(ten, 2), 10, seeds7, true)),
            golden("repeat_then_shuffle_buf10_seed7").get<Order>());
}

TEST(TfData, GlobalSeedsAsTensorFlow) {
  EXPECT_EQ(take(tf_shuffle(tf_range(0, 10), 3, tf_seeds(5, 42), true)),
            golden("global5_op42_buf3").get<Order>());
  EXPECT_EQ(take(tf_shuffle(tf_range(0, 10), 3, tf_seeds(5, {}), true)),
            golden("global5_no_op_seed_buf3").get<Order>());
  EXPECT_EQ(tf_seeds(5, {}).seed2, 1097127993u);  // Python's Random(5).randint(0, 2**31 - 1)
  EXPECT_NE(tf_seeds(5, {}, 1).seed2, tf_seeds(5, {}, 0).seed2);
  EXPECT_EQ(tf_seeds(0, 0).seed2, 2147483647u);
}

TEST(TfData, BatchAndRepeatAsTensorFlow) {
  const auto same = [](const std::vector<Order>& all, const char* name) {
    EXPECT_EQ(all, golden(name).get<std::vector<Order>>()) << name;
  };
  same(batches(tf_range(0, 7), 3, false), "range7_batch3");
  same(batches(tf_range(0, 7), 3, true), "range7_batch3_drop");
  same(batches(tf_repeat(tf_range(0, 6), 2), 4, false), "repeat2_batch4");
}

NumberSet interleave_tens(int64_t length, int64_t cycle, int64_t block) {
  return tf_interleave(
      tf_range(0, 3), [length](int64_t x) { return tf_range(10 * x, 10 * x + length); }, cycle,
      block);
}

TEST(TfData, InterleaveAndShardAsTensorFlow) {
  EXPECT_EQ(take(interleave_tens(4, 2, 1)), golden("interleave_cycle2_block1").get<Order>());
  EXPECT_EQ(take(interleave_tens(4, 2, 1)),
            golden("interleave_parallel_deterministic").get<Order>());
  EXPECT_EQ(take(interleave_tens(3, 2, 2)), golden("interleave_cycle2_block2").get<Order>());
  const Order lengths = {1, 4, 2};
  EXPECT_EQ(take(tf_interleave(
                tf_range(0, 3),
                [&](int64_t i) { return tf_range(0, lengths[static_cast<size_t>(i)]); }, 2, 1)),
            golden("interleave_uneven").get<Order>());
  EXPECT_EQ(take(tf_shard(tf_range(0, 10), 3, 1)), golden("shard_2_of_3").get<Order>());
}

// shuffle -> repeat -> batch, from the start and from the middle: an iterator that is run again up
// to a place is the iterator there.
TEST(TfData, IteratorGoesOnAsTensorFlows) {
  const Json expected = golden("iterator_checkpoint");
  std::vector<Order> all = expected["first4"].get<std::vector<Order>>();
  for (const Json& batch : expected["rest"]) all.push_back(batch.get<Order>());
  EXPECT_EQ(batches(tf_repeat(tf_shuffle(tf_range(0, 20), 8, tf_seeds(0, 3), true), 2), 3, false),
            all);
}

TEST(TfData, NothingComesOfNothing) {
  EXPECT_TRUE(take(tf_repeat(tf_range(0, 0), -1)).empty());
  EXPECT_TRUE(take(tf_repeat(tf_range(0, 3), 0)).empty());
  EXPECT_TRUE(take(tf_shuffle(tf_range(0, 0), 5, {}, true)).empty());
  EXPECT_TRUE(take(interleave_tens(0, 2, 1)).empty());
  EXPECT_TRUE(take(tf_shard(tf_range(0, 2), 5, 4)).empty());
  EXPECT_EQ(take(tf_repeat(tf_range(0, 3), -1), 7), (Order{0, 1, 2, 0, 1, 2, 0}));
}

RC_GTEST_PROP(TfData, EveryNumberOncePerEpoch, ()) {
  const auto n = *rc::gen::inRange<int64_t>(0, 60);
  const auto buffer = *rc::gen::inRange<int64_t>(1, 80);
  const auto cycle = *rc::gen::inRange<int64_t>(1, 6), block = *rc::gen::inRange<int64_t>(1, 5);
  const NumberSet files = tf_interleave(
      tf_range(0, 7), [&](int64_t f) { return tf_shard(tf_range(0, n), 7, f); }, cycle, block);
  const TfSeeds seeds = tf_seeds({}, *rc::gen::inRange<int64_t>(0, 1000));
  const Order two = take(tf_repeat(tf_shuffle(files, buffer, seeds, true), 2));
  Order all(static_cast<size_t>(n));
  std::iota(all.begin(), all.end(), 0);
  for (int epoch = 0; epoch < 2; ++epoch) {
    Order part(two.begin() + epoch * n, two.begin() + (epoch + 1) * n);
    std::sort(part.begin(), part.end());
    RC_ASSERT(part == all);
  }
  RC_ASSERT(static_cast<int64_t>(two.size()) == 2 * n);
}

}  // namespace
}  // namespace headwater
