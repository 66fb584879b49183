// parallel_for: every index once, fixed chunks, nesting, denormals.
#include "base/threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace headwater {
namespace {

class Threads : public testing::TestWithParam<int> {
 protected:
  void SetUp() override { set_num_threads(GetParam()); }
  void TearDown() override { set_num_threads(0); }
};

TEST_P(Threads, EveryIndexOnceInFixedChunks) {
  for (const int64_t n : {0, 1, 7, 64, 1000}) {
    for (const int64_t grain : {-1, 0, 1, 3, 64, 5000}) {
      std::vector<std::atomic<int>> seen(static_cast<size_t>(n));
      std::mutex mutex;
      std::set<std::pair<int64_t, int64_t>> chunks;
      parallel_for(n, grain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
        const std::scoped_lock lock(mutex);
        chunks.emplace(begin, end);
      });
      for (const auto& count : seen) EXPECT_EQ(count, 1);
      std::set<std::pair<int64_t, int64_t>> expected;
      const int64_t step = std::max<int64_t>(1, grain);
      for (int64_t begin = 0; begin < n; begin += step)
        expected.emplace(begin, std::min(n, begin + step));
      EXPECT_EQ(chunks, expected) << n << " by " << grain;
    }
  }
}

TEST_P(Threads, NestedLoopsRunInline) {
  std::atomic<int64_t> sum = 0;
  parallel_for(8, 1, [&](int64_t, int64_t) {
    parallel_for(10, 1, [&](int64_t begin, int64_t) { sum += begin; });
  });
  EXPECT_EQ(sum, 8 * 45);
}

TEST_P(Threads, WorkersTakeTheCallersDenormalMode) {
  const auto count_flushed = [] {
    std::atomic<int> flushed = 0;
    parallel_for(64, 1, [&](int64_t, int64_t) {
      volatile float tiny = std::numeric_limits<float>::min();
      volatile float half = tiny * 0.5f;
      flushed += half == 0;
    });
    return flushed.load();
  };
  EXPECT_EQ(count_flushed(), 0);
  std::thread([&] {  // the mode belongs to a thread: not this one's
    flush_denormals();
    EXPECT_EQ(count_flushed(), 64);
  })
      .join();
  EXPECT_EQ(count_flushed(), 0);
}

INSTANTIATE_TEST_SUITE_P(Counts, Threads, testing::Values(1, 2, 5));

TEST(NumThreads, ZeroMeansOnePerCore) {
  set_num_threads(0);
  EXPECT_GE(num_threads(), 1);
  set_num_threads(3);
  EXPECT_EQ(num_threads(), 3);
  set_num_threads(-1);
  EXPECT_GE(num_threads(), 1);
}

}  // namespace
}  // namespace headwater
