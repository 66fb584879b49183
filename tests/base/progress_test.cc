// What a progress line says and when, and how text is cut to a terminal's columns.
#include "base/progress.h"

#include <gtest/gtest.h>

#include "base/terminal.h"

namespace headwater {
namespace {

TEST(ProgressMeter, QuietAtFirstThenEveryInterval) {
  ProgressMeter meter("job", 100, "steps", 10);
  EXPECT_FALSE(meter.due(0));
  EXPECT_FALSE(meter.due(1.9));
  EXPECT_TRUE(meter.due(2));
  meter.line(2.5, 10, "");
  EXPECT_FALSE(meter.due(12.4));
  EXPECT_TRUE(meter.due(12.5));
}

TEST(ProgressMeter, Line) {
  ProgressMeter meter("pretrain", 1000, "steps", 1);
  EXPECT_EQ(meter.line(4, 20, "loss 6.71"),
            "pretrain    2%  20/1000 steps  5/s  4s  ETA 3m16s  loss 6.71");
  EXPECT_EQ(meter.line(200, 1000, ""), "pretrain  100%  1000/1000 steps  5/s  3m20s");
}

TEST(ProgressMeter, BytesUnknownTotalsAndOddValues) {
  ProgressMeter bytes("records build", 12300000, "B", 1);
  EXPECT_EQ(bytes.line(2, 2500000, ""), "records build   20%  2.5MB/12.3MB  1.2MB/s  2s  ETA 8s");
  ProgressMeter open_end("reading", 0, "lines", 1);
  EXPECT_EQ(open_end.line(10, 25000, ""), "reading  25.0k lines  2500/s  10s");
  EXPECT_EQ(open_end.line(10, 20000, ""), "reading  20.0k lines  2000/s  10s");  // went back
  ProgressMeter beyond("x", 10, "steps", 1);
  EXPECT_EQ(beyond.line(5, 20, ""), "x  100%  20/10 steps  4/s  5s");
}

// A job that gets faster is judged by its last half minute.
TEST(ProgressMeter, RateIsThatOfTheLastHalfMinute) {
  ProgressMeter meter("job", 100000, "steps", 1);
  for (int second = 2; second <= 100; ++second) meter.line(second, second, "");
  std::string line;
  for (int second = 101; second <= 140; ++second)
    line = meter.line(second, 100 + (second - 100) * 50, "");
  EXPECT_EQ(line, "job    2%  2100/100.0k steps  50/s  2m20s  ETA 32m38s");
}

TEST(Progress, Durations) {
  EXPECT_EQ(Progress::duration(0.2), "0s");
  EXPECT_EQ(Progress::duration(59.6), "1m00s");
  EXPECT_EQ(Progress::duration(3725), "1h02m");
  EXPECT_EQ(Progress::duration(90000), "1d01h");
  EXPECT_EQ(Progress::duration(-5), "0s");
  EXPECT_EQ(Progress::duration(1e300), "ages");
}

TEST(Terminal, DisplayWidth) {
  EXPECT_EQ(display_width(""), 0);
  EXPECT_EQ(display_width("loss 6.71"), 9);
  EXPECT_EQ(display_width("한국어 텍스트"), 13);
  EXPECT_EQ(display_width("e\u0301"), 1);             // combining acute
  EXPECT_EQ(display_width("\u1112\u1161\u11ab"), 2);  // a syllable in conjoining jamo
  EXPECT_EQ(display_width("\U0001F600"), 2);
  EXPECT_EQ(display_width("\xff\xed\x95"), 3);  // not UTF-8: a column a byte
}

TEST(Terminal, FitColumns) {
  EXPECT_EQ(fit_columns("abcdef", 6), "abcdef");
  EXPECT_EQ(fit_columns("abcdefg", 6), "abc...");
  EXPECT_EQ(fit_columns("한국어 텍스트", 8), "한국...");
  EXPECT_EQ(fit_columns("한국어 텍스트", 10), "한국어 ...");
  EXPECT_EQ(fit_columns("abcdef", 2), "..");
  EXPECT_EQ(fit_columns("abcdef", 0), "");
  EXPECT_EQ(fit_columns("abcdef", -3), "");
  for (int64_t columns = 0; columns < 30; ++columns)
    EXPECT_LE(display_width(fit_columns("pretrain 한국어 손실 6.71 tok/s", columns)), columns);
}

}  // namespace
}  // namespace headwater
