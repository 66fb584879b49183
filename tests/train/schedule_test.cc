// Learning rates against TensorFlow's polynomial decay and the cases of resumed runs.
#include "train/schedule.h"

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

}  // namespace
}  // namespace headwater
