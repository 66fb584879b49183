#include "text/code_point_map.h"

#include <gtest/gtest.h>

#include <random>

namespace headwater {
namespace {

TEST(CodePointMap, AgreesWithAFlatTable) {
  CodePointMap<uint32_t> map(7);
  std::vector<uint32_t> flat(kCodePoints, 7);
  std::mt19937 rng(3);
  for (int round = 0; round < 400; ++round) {
    const char32_t first = rng() % kCodePoints;
    const char32_t last =
        round % 2 ? first : std::min<char32_t>(first + rng() % 3000, kCodePoints - 1);
    const uint32_t value = rng() % 5;
    map.set_range(first, last, value);
    std::fill(flat.begin() + first, flat.begin() + last + 1, value);
  }
  for (char32_t c = 0; c < kCodePoints; ++c) ASSERT_EQ(map[c], flat[c]) << uint32_t{c};
  char32_t next = 0;
  map.for_each_run([&](char32_t first, char32_t last, uint32_t value) {
    ASSERT_EQ(first, next);
    for (char32_t c = first; c <= last; ++c) ASSERT_EQ(value, flat[c]);
    next = last + 1;
  });
  EXPECT_EQ(next, kCodePoints);
}

}  // namespace
}  // namespace headwater
