// The trigram model that a causal language model is measured against.
#include "train/ngram_baseline.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <vector>

namespace headwater {
namespace {

RC_GTEST_PROP(NgramBaseline, ProbabilitiesSumToOne, ()) {
  const auto size = *rc::gen::inRange<int64_t>(1, 12);
  const auto id = rc::gen::inRange<int32_t>(0, static_cast<int32_t>(size));
  NgramBaseline model(size);
  for (const auto& row : *rc::gen::container<std::vector<std::vector<int32_t>>>(
           rc::gen::container<std::vector<int32_t>>(id))) {
    model.count(row);
  }
  const int32_t second = *id, first = *rc::gen::oneOf(id, rc::gen::just<int32_t>(-1));
  double sum = 0;
  for (int32_t token = 0; token < size; ++token) {
    const double p = model.probability(first, second, token);
    RC_ASSERT(p > 0);
    sum += p;
  }
  RC_ASSERT(std::abs(sum - 1) < 1e-12);
}

// Worked out by hand. Triples (start a b), (a b c), (start a b), (a b d); pairs ab once (before it:
// start), bc and bd once (before them: a).
TEST(NgramBaseline, AnExampleByHand) {
  constexpr int32_t a = 0, b = 1, c = 2, d = 3;
  NgramBaseline model(5);
  model.count(std::vector<int32_t>{a, b, c});
  model.count(std::vector<int32_t>{a, b, d});
  EXPECT_EQ(model.tokens(), 4);
  // n1 and n2: triples 2 and 1, so 1/2; pairs 3 and 0, so 1 and at most 0.99; single tokens b, c
  // and d have one history each: 0.99.
  const double d1 = 0.99, d2 = 0.99, d3 = 0.5;
  const auto single = [&](int32_t t) {
    return (t >= b && t <= d ? (1 - d1) / 3 : 0) + d1 * 3 / 3 / 5;
  };
  const double pair_bc = (1 - d2) / 2 + d2 * 2 / 2 * single(c);
  EXPECT_NEAR(model.probability(a, b, c), (1 - d3) / 2 + d3 * 2 / 2 * pair_bc, 1e-12);
  EXPECT_NEAR(model.probability(-1, a, b),
              (2 - d3) / 2 + d3 * 1 / 2 * ((1 - d2) / 1 + d2 * single(b)), 1e-12);
  // Contexts that were never seen back off to the order below.
  EXPECT_NEAR(model.probability(d, b, c), pair_bc, 1e-12);
  EXPECT_NEAR(model.probability(a, d, 4), single(4), 1e-12);
  model.judge(std::vector<int32_t>{a, b, c});
  EXPECT_EQ(model.judged(), 2);
  EXPECT_NEAR(model.loss(),
              -(std::log(model.probability(-1, a, b)) + std::log(model.probability(a, b, c))) / 2,
              1e-12);
}

TEST(NgramBaseline, LearnsWhatThreeTokensTell) {
  // 0 1 2 3 0 1 2 3 ...: everything follows from the token before.
  std::vector<int32_t> row;
  for (int i = 0; i < 4000; ++i) row.push_back(i % 4);
  NgramBaseline model(4);
  model.count(row);
  model.judge(row);
  EXPECT_LT(model.loss(), 0.01);
}

TEST(NgramBaseline, CountingIsBounded) {
  NgramBaseline model(10, 5);
  model.count(std::vector<int32_t>{1, 2, 3, 4});
  EXPECT_FALSE(model.full());
  model.count(std::vector<int32_t>{1, 2, 3, 4});
  EXPECT_TRUE(model.full());
  EXPECT_EQ(model.tokens(), 5);
  EXPECT_EQ(NgramBaseline(3).loss(), 0);
}

}  // namespace
}  // namespace headwater
