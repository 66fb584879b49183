#include "train/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace headwater {

double Restart::factor(int64_t step) const {
  if (step < from_step) return 1;
  const auto t = static_cast<double>(step - from_step);
  switch (kind) {
    case Kind::kNone: return 1;
    case Kind::kRewarm: return std::min(1.0, t / static_cast<double>(rewarm_steps));
    case Kind::kBiasCorrect: break;
  }
  return std::sqrt(1 - std::pow(beta2, t + 1)) / (1 - std::pow(beta1, t + 1));
}

std::string_view restart_name(Restart::Kind kind) {
  switch (kind) {
    case Restart::Kind::kNone: return "none";
    case Restart::Kind::kRewarm: return "rewarm";
    case Restart::Kind::kBiasCorrect: break;
  }
  return "bias-correct";
}

double Schedule::rate(int64_t step) const {
  const auto s = static_cast<double>(std::clamp(step, decay_from, total_steps) - decay_from);
  const double decay = std::pow(1 - s / static_cast<double>(total_steps - decay_from), power);
  const double warmup =
      warmup_steps > 0
          ? std::min(1.0, static_cast<double>(step) / static_cast<double>(warmup_steps))
          : 1.0;
  return peak * decay * warmup * restart.factor(step);
}

std::string Schedule::text(int64_t first) const {
  Schedule plain = *this;
  plain.restart.kind = Restart::Kind::kNone;
  std::string text;
  if (first < warmup_steps) {
    text = fmt::format("up to {:.3g} at step {}", plain.rate(warmup_steps), warmup_steps);
  } else {
    text = fmt::format("{:.3g} at step {}", plain.rate(first), first);
  }
  text += fmt::format(", 0 at step {}", total_steps);
  if (restart.kind == Restart::Kind::kNone) return text;
  const std::string since =
      restart.from_step > first ? fmt::format(" at step {}", restart.from_step) : "";
  if (restart.kind == Restart::Kind::kRewarm)
    return text + fmt::format("; no moments{}: warmed up again over {} steps", since,
                              restart.rewarm_steps);
  return text + fmt::format("; no moments{}: bias-corrected", since);
}

}  // namespace headwater
