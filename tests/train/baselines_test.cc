// Unigram and bigram baselines on streams whose statistics are known.
#include "train/baselines.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/threefry.h"

namespace headwater {
namespace {

constexpr SpecialIds kSpecial{0, 1, 2, 3, 4};

TEST(TokenBaselines, UniformStream) {
  TokenBaselines baselines(8 + 5, kSpecial, 1 << 20);
  std::vector<int32_t> ids;
  for (int32_t i = 0; i < 8000; ++i) ids.push_back(5 + i % 8);
  baselines.count(ids);
  baselines.judge(ids);
  const BaselineScores scores = baselines.scores();
  EXPECT_EQ(scores.tokens, 8000);
  EXPECT_NEAR(scores.unigram_entropy, std::log(8.0), 1e-12);
  EXPECT_NEAR(scores.unigram_loss, std::log(8.0), 1e-2);
  EXPECT_NEAR(scores.unigram_accuracy, 1.0 / 8, 1e-12);
  EXPECT_NEAR(scores.bigram_accuracy, 1.0, 1e-3);  // each token has one follower
  EXPECT_LT(scores.bigram_loss, 0.01);
}

TEST(TokenBaselines, SpecialTokensAreNeitherCountedNorPredicted) {
  TokenBaselines baselines(10, kSpecial);
  baselines.count(std::vector<int32_t>{2, 7, 8, 3, 9, 3, 0, 0});
  baselines.judge(std::vector<int32_t>{2, 7, 8, 3, 9, 3, 0, 0});
  const BaselineScores scores = baselines.scores();
  EXPECT_EQ(scores.tokens, 3);
  EXPECT_NEAR(scores.unigram_entropy, std::log(3.0), 1e-12);
  // 9 stands behind [SEP]: no left neighbour, so only 7 -> 8 is known; 7 is the guess elsewhere.
  EXPECT_NEAR(scores.bigram_accuracy, 2.0 / 3, 1e-12);
}

TEST(TokenBaselines, ProbabilitiesOfAllFollowersSumToOne) {
  RandomStream random(Key::from_seed(11));
  std::vector<int32_t> ids;
  for (int i = 0; i < 500; ++i) ids.push_back(5 + static_cast<int32_t>(random.below(20)));
  double sum = 0;
  for (int32_t next = 0; next < 25; ++next) {
    TokenBaselines fresh(25, SpecialIds{-1, -1, -1, -1, -1});
    fresh.count(ids);
    fresh.judge(std::vector<int32_t>{6});
    const double alone = fresh.scores().bigram_loss;
    fresh.judge(std::vector<int32_t>{6, next});
    sum += std::exp(-(fresh.scores().bigram_loss * 3 - 2 * alone));
  }
  EXPECT_NEAR(sum, 1, 1e-9);
}

TEST(TokenBaselines, CountingStopsAtTheLimit) {
  TokenBaselines baselines(10, kSpecial, 5);
  baselines.count(std::vector<int32_t>{7, 7, 7, 7, 7, 8, 8, 8});
  EXPECT_TRUE(baselines.full());
  EXPECT_EQ(baselines.scores().unigram_entropy, 0);
}

}  // namespace
}  // namespace headwater
