#include "batches/masking.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "io/file.h"

namespace headwater {
namespace {

using Ints = std::vector<int32_t>;

struct Row {
  Ints masked_input_ids, positions, ids;
  std::vector<float> weights;
  Row(size_t length, size_t slots)
      : masked_input_ids(length), positions(slots), ids(slots), weights(slots) {}
  MaskedRow spans() { return {masked_input_ids, positions, ids, weights}; }
};

// The original's own draws are not recorded, but follow from what it made: a slot shows [MASK]
// where the masked input does (a position of several slots shows it for all of them or for none).
TEST(Masking, ReplaysTheRecordedTraces) {
  auto text = read_file(local_files(), HW_TESTS_DIR "/golden/masking/masking.json");
  ASSERT_TRUE(text.has_value());
  const Json rows = *parse_json(*text, "masking.json");
  ASSERT_EQ(rows.size(), 64u);
  for (const Json& row : rows) {
    SCOPED_TRACE(row["trace"].get<std::string>());
    MaskingRule rule;
    rule.max_predictions = row["max_predictions_per_seq"].get<int64_t>();
    const Ints input_ids = row["input_ids"], mask = row["input_mask"];
    const Ints positions = row["masked_lm_positions"], masked = row["masked_input_ids"];
    std::vector<uint8_t> shows;
    for (const int32_t p : positions) shows.push_back(masked[static_cast<size_t>(p)] == rule.mask);
    const int64_t used = count_predictions(std::count(mask.begin(), mask.end(), 1), rule);
    Row out(input_ids.size(), positions.size());
    apply_mask(input_ids, used, positions, shows, rule.mask, out.spans());
    EXPECT_EQ(out.positions, positions);
    EXPECT_EQ(out.ids, row["masked_lm_ids"].get<Ints>());
    EXPECT_EQ(out.weights, row["masked_lm_weights"].get<std::vector<float>>());
    EXPECT_EQ(out.masked_input_ids, masked);
  }
}

TEST(Masking, NumberOfPredictions) {
  MaskingRule rule;
  rule.max_predictions = 19;
  const std::map<int64_t, int64_t> expected = {{0, 1},   {2, 1},   {3, 1},    {9, 1},    {10, 2},
                                               {30, 4},  {50, 8},  {100, 15}, {125, 19}, {128, 19},
                                               {70, 10}, {512, 19}};  // halves go to the even one
  for (const auto& [tokens, count] : expected)
    EXPECT_EQ(count_predictions(tokens, rule), count) << tokens;
}

Row draw(const Ints& input_ids, const Ints& mask, const MaskingRule& rule, Key key) {
  const auto slots = static_cast<size_t>(rule.max_predictions);
  Ints positions(slots);
  std::vector<uint8_t> shows(slots);
  const int64_t used = draw_mask(input_ids, mask, rule, key, positions, shows);
  Row out(input_ids.size(), slots);
  apply_mask(input_ids, used, positions, shows, rule.mask, out.spans());
  return out;
}

// Case B056: over 10,000 draws no special token and no padding is ever chosen.
TEST(Masking, NeverSpecialsOrPadding) {
  const Ints ids = {2, 10, 11, 12, 13, 14, 15, 3, 0, 0, 0, 0};
  const Ints mask = {1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0};
  MaskingRule rule;
  rule.max_predictions = 3;
  rule.mask_prob = 0.4;
  std::map<int32_t, int> hits;
  int shown = 0;
  for (uint32_t n = 0; n < 10000; ++n) {
    const Row row = draw(ids, mask, rule, Key::from_seed(5).fold_in(n));
    for (size_t slot = 0; slot < 3; ++slot) {
      ASSERT_EQ(row.weights[slot], 1.0f);
      ++hits[row.positions[slot]];
      shown += row.masked_input_ids[static_cast<size_t>(row.positions[slot])] == rule.mask;
    }
    for (const size_t p : {0, 7, 8, 9, 10, 11}) ASSERT_EQ(row.masked_input_ids[p], ids[p]);
  }
  ASSERT_EQ(hits.size(), 6u);  // positions 1 to 6
  for (const auto& [position, count] : hits) {
    EXPECT_GE(position, 1);
    EXPECT_LE(position, 6);
    EXPECT_NEAR(count, 5000, 300);
  }
  EXPECT_GT(shown, 25500);  // 85 % of the slots, and more where two slots share a position
}

TEST(Masking, ARowWithoutOrdinaryTokensHasNoWeight) {
  const Ints ids = {2, 3, 0, 0}, mask = {1, 1, 0, 0};
  MaskingRule rule;
  rule.max_predictions = 2;
  const Row row = draw(ids, mask, rule, Key{});
  EXPECT_EQ(row.masked_input_ids, ids);
  EXPECT_EQ(row.positions, (Ints{0, 0}));
  EXPECT_EQ(row.ids, (Ints{0, 0}));
  EXPECT_EQ(row.weights, (std::vector<float>{0, 0}));
}

RC_GTEST_PROP(Masking, IsAFunctionOfTheKeyAndTouchesOnlyItsPositions, (uint32_t seed)) {
  const auto length = *rc::gen::inRange<size_t>(2, 64);
  const auto real = *rc::gen::inRange<size_t>(0, length + 1);
  Ints ids(length, 0), mask(length, 0);
  for (size_t t = 0; t < real; ++t) ids[t] = *rc::gen::inRange(1, 9), mask[t] = 1;
  MaskingRule rule;
  rule.max_predictions = *rc::gen::inRange(1, 12);
  const Key key = Key::from_seed(seed);
  const Row row = draw(ids, mask, rule, key), again = draw(ids, mask, rule, key);
  RC_ASSERT(row.positions == again.positions && row.masked_input_ids == again.masked_input_ids);
  for (size_t t = 0; t < length; ++t) {
    const bool drawn = std::count(row.positions.begin(), row.positions.end(), t) > 0 && t > 0;
    if (row.masked_input_ids[t] != ids[t]) RC_ASSERT(drawn && row.masked_input_ids[t] == rule.mask);
  }
  for (size_t slot = 0; slot < row.positions.size(); ++slot) {
    const auto p = static_cast<size_t>(row.positions[slot]);
    if (row.weights[slot] == 0) {
      RC_ASSERT(p == 0 && row.ids[slot] == 0);
      continue;
    }
    RC_ASSERT(mask[p] == 1 && ids[p] != rule.cls && ids[p] != rule.sep && ids[p] != rule.mask);
    RC_ASSERT(row.ids[slot] == ids[p]);
  }
}

}  // namespace
}  // namespace headwater
