#include "train/schedule.h"

#include <algorithm>
#include <cmath>

namespace headwater {

double Schedule::rate(int64_t step) const {
  const auto s = static_cast<double>(step);
  const auto total = static_cast<double>(total_steps);
  const double decay = std::pow(1 - std::min(s, total) / total, power);
  const double warmup =
      warmup_steps > 0 ? std::min(1.0, s / static_cast<double>(warmup_steps)) : 1.0;
  return peak * decay * warmup;
}

}  // namespace headwater
