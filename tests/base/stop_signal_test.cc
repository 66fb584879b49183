#include "base/stop_signal.h"

#include <gtest/gtest.h>

namespace headwater {
namespace {

TEST(StopSignal, NotesTheFirstSignal) {
  const StopSignal stop;
  EXPECT_FALSE(StopSignal::requested());
  std::raise(SIGTERM);
  EXPECT_TRUE(StopSignal::requested());
  EXPECT_EQ(StopSignal::number(), SIGTERM);
}

TEST(StopSignal, ANewOneStartsClean) {
  {
    const StopSignal stop;
    std::raise(SIGINT);
  }
  const StopSignal stop;
  EXPECT_FALSE(StopSignal::requested());
}

TEST(StopSignalDeathTest, TheSecondSignalEndsTheProcess) {
  EXPECT_EXIT(
      {
        const StopSignal stop;
        std::raise(SIGINT);
        std::raise(SIGTERM);
      },
      testing::KilledBySignal(SIGTERM), "");
}

TEST(StopSignalDeathTest, HandlersAreRestored) {
  EXPECT_EXIT(
      {
        { const StopSignal stop; }
        std::raise(SIGINT);
      },
      testing::KilledBySignal(SIGINT), "");
}

}  // namespace
}  // namespace headwater
