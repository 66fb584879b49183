// The learning rate as a pure function of the step, as in google-research/electra: warm-up and
// decay multiply, so the peak itself is never reached.
//
//   lr(s) = peak * (1 - min(s, T) / T)^power * min(1, s / W)
//
// s counts the updates done before this one. A resumed run therefore has the rates of an unbroken
// one, and the rate that is logged for a step is the one that step used.
#pragma once

#include <cstdint>

namespace headwater {

struct Schedule {
  double peak = 0;           // over 0
  int64_t warmup_steps = 0;  // W; 0: no warm-up
  int64_t total_steps = 1;   // T, over 0
  double power = 1;          // of the decay; 1 is linear

  double rate(int64_t step) const;
};

}  // namespace headwater
