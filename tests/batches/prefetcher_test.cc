// The thread that works ahead: order, ends, bounds.
#include "batches/prefetcher.h"

#include <gtest/gtest.h>

#include <atomic>

namespace headwater {
namespace {

struct Item {
  int64_t number = 0;
  int64_t bytes = 1;
  int64_t byte_size() const { return bytes; }
};
using Made = Result<std::optional<Item>>;

TEST(Prefetcher, ItemsInOrderThenTheEndForGood) {
  int64_t n = 0;
  Prefetcher<Item> prefetcher({.items = 2}, [&]() -> Made {
    if (n == 10) return std::optional<Item>();
    return std::optional(Item{n++});
  });
  for (int64_t i = 0; i < 10; ++i) EXPECT_EQ((*prefetcher.next())->number, i);
  EXPECT_FALSE(prefetcher.next()->has_value());
  EXPECT_FALSE(prefetcher.next()->has_value());
  EXPECT_GE(prefetcher.wait_seconds(), 0);
}

TEST(Prefetcher, AnErrorComesBehindWhatWasMadeAndStays) {
  int64_t n = 0;
  Prefetcher<Item> prefetcher({.items = 8}, [&]() -> Made {
    if (n == 3) return fail(Code::kDataLoss, "broken");
    return std::optional(Item{n++});
  });
  for (int64_t i = 0; i < 3; ++i) EXPECT_TRUE(prefetcher.next().has_value());
  for (int i = 0; i < 2; ++i) EXPECT_EQ(prefetcher.next().error().message, "broken");
}

TEST(Prefetcher, MemoryThatRunsOutIsAnError) {
  Prefetcher<Item> prefetcher({}, []() -> Made { throw std::bad_alloc(); });
  EXPECT_EQ(prefetcher.next().error().code, Code::kResourceExhausted);
}

// What is made and not taken stays within both bounds, one item over.
TEST(Prefetcher, QueueIsBounded) {
  std::atomic<int64_t> made{0};
  Prefetcher<Item> prefetcher({.items = 100, .bytes = 25}, [&]() -> Made {
    return std::optional(Item{made++, 10});
  });
  for (int64_t taken = 1; taken < 50; ++taken) {
    ASSERT_EQ((*prefetcher.next())->number, taken - 1);
    EXPECT_LE(made.load(), taken + 2 + 1);  // two in the queue, one that waits
  }
}

TEST(Prefetcher, AnItemOverTheBoundIsTakenAlone) {
  int64_t n = 0;
  Prefetcher<Item> prefetcher({.items = 4, .bytes = 5}, [&]() -> Made {
    return std::optional(Item{n++, 100});
  });
  for (int64_t i = 0; i < 5; ++i) EXPECT_EQ((*prefetcher.next())->number, i);
}

}  // namespace
}  // namespace headwater
