// A progress line with ETA: redrawn at most ten times a second on a terminal, one plain line per
// interval elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>

namespace headwater {

// When a line is due and what it says; knows neither a clock nor a terminal.
class ProgressMeter {
 public:
  // `total` in units of work (bytes, steps); 0 when unknown.
  ProgressMeter(std::string what, int64_t total, std::string unit, double interval);

  // Nothing is due in the first two seconds, then every `interval` seconds.
  bool due(double seconds) const;
  // "what   12%  1200/10k steps  53.1/s  24s  ETA 2m40s  detail"; rate and ETA are those of the
  // last half minute.
  std::string line(double seconds, int64_t done, std::string_view detail);

 private:
  std::string what_, unit_;
  int64_t total_;
  double interval_, next_;
  std::deque<std::pair<double, int64_t>> window_;  // (seconds, done)
};

// For one thread; lines of the log clear it by themselves (base/log.h).
class Progress {
 public:
  Progress(std::string what, int64_t total, std::string unit);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Work done so far, and a text shown behind it (losses, counts). Cheap when nothing is due.
  void update(int64_t done, std::string_view detail = {});
  // Clears the live line, so that another line can be printed.
  void clear();
  void finish();

  static bool is_terminal();                    // standard error is one and TERM is not dumb
  static std::string duration(double seconds);  // "1h02m", "3m05s", "12s"

 private:
  std::chrono::steady_clock::time_point start_;
  bool live_, finished_ = false;
  ProgressMeter meter_;
};

// Takes a live line off the terminal, if one is there.
void clear_live_line();

}  // namespace headwater
