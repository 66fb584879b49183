// Random bits against jax.random, and properties of the derived draws.
#include "base/threefry.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "base/crc32c.h"

namespace headwater {
namespace {

nlohmann::json golden() {
  std::ifstream in(HW_TESTS_DIR "/golden/threefry/threefry.json");
  EXPECT_TRUE(in.good());
  return nlohmann::json::parse(in);
}

TEST(Threefry, EqualsJax) {
  const auto file = golden();
  for (const auto& entry : file["keys"]) {
    Key key = Key::from_seed(entry["seed"]);
    for (const uint32_t data : entry["fold_in"]) key = key.fold_in(data);
    EXPECT_EQ(key, (Key{entry["key"][0], entry["key"][1]})) << entry["seed"];
    for (size_t i = 0; i < entry["bits"].size(); ++i) {
      EXPECT_EQ(key.bits(i), entry["bits"][i].get<uint32_t>());
      EXPECT_EQ(key.uniform(i), entry["uniform"][i].get<float>());
    }
    for (size_t i = 0; i < entry["bernoulli"].size(); ++i)
      EXPECT_EQ(key.uniform(i) < 0.1f, entry["bernoulli"][i].get<int>() == 1);
  }
}

TEST(Threefry, EqualsJaxOverALongArray) {
  const auto file = golden();
  const auto& expected = file["long"];
  const Key key = Key::from_seed(expected["seed"]);
  uint64_t sum = 0;
  uint32_t combined = 0, last = 0;
  for (uint64_t i = 0; i < expected["count"].get<uint64_t>(); ++i)
    last = key.bits(i), sum += last, combined ^= last;
  EXPECT_EQ(sum, expected["sum"].get<uint64_t>());
  EXPECT_EQ(combined, expected["xor"].get<uint32_t>());
  EXPECT_EQ(last, expected["last"].get<uint32_t>());
}

// Salmon et al.'s known answers for Threefry-2x32, 20 rounds.
TEST(Threefry, KnownAnswers) {
  const auto zero = threefry2x32(0, 0, 0, 0);
  EXPECT_EQ(zero.x0, 0x6b200159u);
  EXPECT_EQ(zero.x1, 0x99ba4efeu);
  const auto ones = threefry2x32(0xffffffffu, 0xffffffffu, 0xffffffffu, 0xffffffffu);
  EXPECT_EQ(ones.x0, 0x1cb996fcu);
  EXPECT_EQ(ones.x1, 0xbb002be7u);
  const auto pi = threefry2x32(0x13198a2eu, 0x03707344u, 0x243f6a88u, 0x85a308d3u);
  EXPECT_EQ(pi.x0, 0xc4923a9cu);
  EXPECT_EQ(pi.x1, 0x483df7a0u);
}

TEST(Threefry, SitesHaveStreamsOfTheirOwn) {
  const Key key = Key::from_seed(1);
  EXPECT_EQ(key.fold_in("dropout"), key.fold_in(crc32c("dropout")));
  EXPECT_NE(key.fold_in("dropout"), key.fold_in("mask"));
  EXPECT_NE(key.fold_in("a").fold_in("b"), key.fold_in("b").fold_in("a"));
}

TEST(Threefry, BelowIsEvenAndWithinItsBound) {
  RandomStream stream(Key::from_seed(9));
  std::array<int, 7> counts{};
  for (int i = 0; i < 70000; ++i) ++counts.at(stream.below(7));
  for (const int count : counts) EXPECT_NEAR(count, 10000, 400);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(stream.below(1), 0u);
  const uint64_t wide = uint64_t{1} << 63;
  for (int i = 0; i < 1000; ++i) EXPECT_LT(stream.below(wide), wide);
}

TEST(Threefry, AStreamWalksItsKey) {
  const Key key = Key::from_seed(4);
  RandomStream stream(key);
  for (uint64_t i = 0; i < 100; ++i) {
    const float value = stream.uniform();
    EXPECT_EQ(value, key.uniform(i));
    EXPECT_GE(value, 0.0f);
    EXPECT_LT(value, 1.0f);
  }
}

}  // namespace
}  // namespace headwater
