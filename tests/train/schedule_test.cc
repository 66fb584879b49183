// Learning rates against TensorFlow's polynomial decay and the cases of resumed runs.
#include "train/schedule.h"

#include <cmath>

#include "golden.h"

namespace headwater {
namespace {

TEST(Schedule, EqualsTensorFlow) {
  const auto golden = load_golden("metrics/metrics.json");
  for (const auto& entry : golden["schedules"]) {
    const Schedule schedule{entry["peak"], entry["warmup"], entry["total"], entry["power"]};
    for (size_t i = 0; i < entry["steps"].size(); ++i) {
      const double expected = entry["rates"][i];
      EXPECT_NEAR(schedule.rate(entry["steps"][i]), expected, 2e-7 * schedule.peak)
          << entry["peak"] << " at step " << entry["steps"][i];
    }
  }
}

// Cases B075 and B077: steps 1 to 10 use s = 0 to 9; a run resumed after 5 goes on at s = 5.
TEST(Schedule, ResumedRunHasTheRatesOfTheUnbrokenOne) {
  const Schedule schedule{1e-5, 0, 10, 1};
  for (int64_t step = 1; step <= 10; ++step)
    EXPECT_NEAR(schedule.rate(step - 1), 1e-6 * static_cast<double>(11 - step), 1e-18);
  EXPECT_EQ(schedule.rate(10), 0);
  EXPECT_EQ(schedule.rate(11), 0);
}

TEST(Schedule, WarmUpAndDecayMultiply) {
  const Schedule schedule{1e-3, 10, 100, 1};
  EXPECT_EQ(schedule.rate(0), 0);
  EXPECT_DOUBLE_EQ(schedule.rate(5), 1e-3 * 0.95 * 0.5);
  EXPECT_DOUBLE_EQ(schedule.rate(10), 1e-3 * 0.9);
}

// 1.5M steps done, 300,000 to come: the peak that makes the rate 2e-4 at the start.
TEST(Schedule, GoesOnExactly) {
  const Schedule schedule{1.2e-3, 10000, 1800000, 1};
  EXPECT_NEAR(schedule.rate(1500000), 2e-4, 1e-12);
  EXPECT_NEAR(schedule.rate(1650000), 1e-4, 1e-12);
}

TEST(Schedule, DecaysFromItsOwnStart) {
  const Schedule schedule{.peak = 1e-4, .total_steps = 1800000, .decay_from = 1500000};
  EXPECT_DOUBLE_EQ(schedule.rate(1500000), 1e-4);
  EXPECT_DOUBLE_EQ(schedule.rate(1650000), 5e-5);
  EXPECT_EQ(schedule.rate(1800000), 0);
  EXPECT_EQ(schedule.text(1500000), "0.0001 at step 1500000, 0 at step 1800000");
}

TEST(Schedule, RestartsWithoutMoments) {
  Schedule schedule{.peak = 1, .total_steps = 2000000, .decay_from = 1000000, .restart = {}};
  schedule.restart = {.kind = Restart::Kind::kRewarm, .from_step = 1000000, .rewarm_steps = 100};
  EXPECT_EQ(schedule.rate(1000000), 0);
  EXPECT_NEAR(schedule.rate(1000050), 0.5, 1e-4);
  EXPECT_NEAR(schedule.rate(1000100), 1, 1e-3);
  EXPECT_EQ(schedule.restart.factor(999999), 1);  // nothing before
  schedule.restart.kind = Restart::Kind::kBiasCorrect;
  EXPECT_NEAR(schedule.rate(1000000), std::sqrt(0.001) / 0.1, 1e-9);
  EXPECT_NEAR(schedule.rate(1020000), 0.98, 1e-6);
}

}  // namespace
}  // namespace headwater
