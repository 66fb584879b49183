#include "kernels/dropout.h"

#include <cmath>

#include "kernel_testing.h"

namespace headwater::kernels {
namespace {

// The rule, one element at a time, on the bits of base/threefry.h.
Floats reference(const Dropout& dropout, const Floats& x) {
  Floats y(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const bool keep = dropout.key.uniform(dropout.offset + i) < dropout.keep_prob();
    y[i] = keep ? x[i] * (1.0f / dropout.keep_prob()) : 0.0f;
  }
  return y;
}

void check(const Dropout& dropout, int64_t n) {
  const Floats x = random_floats(n, 1);
  const Floats expected = reference(dropout, x);
  on_every_isa(
      [&] {
        Floats y = x;
        kernels::dropout(dropout, y.data(), y.data(), n);
        return y;
      },
      [&](const Floats& y) { EXPECT_EQ(expected, y); });
}

TEST(Dropout, EqualsTheRuleBitForBit) {
  const Key key = Key::from_seed(42).fold_in(7);
  for (const int64_t n : {0, 1, 7, 8, 31, 32, 33, 1000, 40001})
    for (const float rate : {0.1f, 0.5f, 0.9f}) check({key, rate, 0}, n);
}

TEST(Dropout, OffsetBeyondTheLowCounterWord) {
  const Key key = Key::from_seed(5);
  check({key, 0.1f, 0xFFFFFFFFull - 40}, 100);  // the low word wraps inside a block
  check({key, 0.1f, 0x3'0000'0000ull - 1}, 70);
  check({key, 0.1f, 0x7'1234'5678ull}, 70);
}

TEST(Dropout, RateZeroCopies) {
  const Floats x = random_floats(100, 3);
  Floats y(100);
  dropout({Key{}, 0.0f, 0}, x.data(), y.data(), 100);
  EXPECT_EQ(x, y);
}

TEST(Dropout, KeepsTheExpectedShare) {
  const int64_t n = 100'000;
  const Floats x(static_cast<size_t>(n), 1.0f);
  Floats y(x.size());
  dropout({Key::from_seed(1), 0.1f, 0}, x.data(), y.data(), n);
  double sum = 0.0;
  for (const float v : y) sum += double{v};
  EXPECT_NEAR(1.0, sum / static_cast<double>(n), 0.005);
}

}  // namespace
}  // namespace headwater::kernels
