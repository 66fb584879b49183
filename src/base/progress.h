// A progress line with ETA: redrawn at most ten times a second on a terminal, one plain line per
// interval elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

namespace headwater {

class Progress {
 public:
  // `total` in units of work (bytes, steps); 0 when unknown. Nothing is printed before two seconds
  // have passed.
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
  void draw(std::string_view detail, bool last);
  std::string what_, unit_;
  int64_t total_, done_ = 0;
  std::chrono::steady_clock::time_point start_, last_draw_;
  std::deque<std::pair<double, int64_t>>
      window_;  // (seconds, done) of the last half minute, for rate and ETA
  bool live_ = false, drawn_ = false, finished_ = false;
};

}  // namespace headwater
