// SIGINT and SIGTERM as a question that long work asks at good places to stop.
//
// While a StopSignal lives, the first signal is only noted; the second ends the process at once, as
// without it. Handlers are process-wide: one at a time, or one within another.
#pragma once

#include <csignal>

namespace headwater {

class StopSignal {
 public:
  StopSignal();
  ~StopSignal();  // restores what was there
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  static bool requested() { return number() != 0; }
  static int number();  // of the signal that came, 0 for none; the exit code is 128 + number

 private:
  struct sigaction interrupt_ = {}, terminate_ = {};
};

}  // namespace headwater
