#include "train/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace headwater {
namespace {

constexpr std::array<std::string_view, 7> kNames = {
    "google", "constant", "linear", "cosine", "polynomial", "inverse_sqrt", "wsd"};

}  // namespace

std::string_view schedule_name(ScheduleKind kind) { return kNames[static_cast<size_t>(kind)]; }

std::optional<ScheduleKind> find_schedule(std::string_view name) {
  if (name == "constant_with_warmup") name = "constant";
  if (name == "warmup_stable_decay") name = "wsd";
  const auto* const found = std::ranges::find(kNames, name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<ScheduleKind>(found - kNames.begin());
}

std::vector<std::string> schedule_names() { return {kNames.begin(), kNames.end()}; }

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

double Schedule::google_factor(int64_t step) const {
  const auto s = static_cast<double>(std::clamp(step, decay_from, total_steps) - decay_from);
  const double decay = std::pow(1 - s / static_cast<double>(total_steps - decay_from), power);
  const double warmup =
      warmup_steps > 0
          ? std::min(1.0, static_cast<double>(step) / static_cast<double>(warmup_steps))
          : 1.0;
  return decay * warmup;
}

double Schedule::wsd_factor(double left) const {
  const auto length = static_cast<double>(
      decay_steps > 0 ? decay_steps : std::max<int64_t>(1, (total_steps - decay_from) / 10));
  const double progress = std::clamp(1 - left / length, 0.0, 1.0);
  double height = 1 - progress;
  if (decay_form == DecayForm::kCosine) height = 0.5 * (1 + std::cos(std::numbers::pi * progress));
  if (decay_form == DecayForm::kOneMinusSqrt) height = 1 - std::sqrt(progress);
  return end_ratio + (1 - end_ratio) * height;
}

double Schedule::factor(int64_t step) const {
  const int64_t s = std::max<int64_t>(0, step - decay_from), total = total_steps - decay_from;
  const auto warmup = static_cast<double>(warmup_steps);
  if (s < warmup_steps) return static_cast<double>(s) / warmup;
  const auto fall = static_cast<double>(std::max<int64_t>(1, total - warmup_steps));
  const auto left = static_cast<double>(std::max<int64_t>(0, total - s));
  switch (kind) {
    case ScheduleKind::kGoogle:
    case ScheduleKind::kConstant: break;
    case ScheduleKind::kLinear: return left / fall;
    case ScheduleKind::kCosine: return 0.5 * (1 + std::cos(std::numbers::pi * (1 - left / fall)));
    case ScheduleKind::kPolynomial:
      return end_ratio + (1 - end_ratio) * std::pow(left / fall, power);
    case ScheduleKind::kInverseSqrt: {
      const auto scale = static_cast<double>(timescale > 0      ? timescale
                                             : warmup_steps > 0 ? warmup_steps
                                                                : 10000);
      return std::sqrt(scale / (static_cast<double>(s) - warmup + scale));
    }
    case ScheduleKind::kWsd: return wsd_factor(left);
  }
  return 1;
}

double Schedule::rate(int64_t step) const {
  const double share = kind == ScheduleKind::kGoogle ? google_factor(step) : factor(step);
  return peak * share * restart.factor(step);
}

std::string Schedule::text(int64_t first) const {
  Schedule plain = *this;
  plain.restart.kind = Restart::Kind::kNone;
  std::string text;
  // google's warm-up is counted from step 0, that of the others from decay_from.
  const int64_t warm = warmup_steps + (kind == ScheduleKind::kGoogle ? 0 : decay_from);
  if (first < warm) {
    text = fmt::format("up to {:.3g} at step {}", plain.rate(warm), warm);
  } else {
    text = fmt::format("{:.3g} at step {}", plain.rate(first), first);
  }
  if (kind != ScheduleKind::kGoogle) text = fmt::format("{}, {}", schedule_name(kind), text);
  text += fmt::format(", {:.3g} at step {}", plain.rate(total_steps), total_steps);
  if (restart.kind == Restart::Kind::kNone) return text;
  const std::string since =
      restart.from_step > first ? fmt::format(" at step {}", restart.from_step) : "";
  if (restart.kind == Restart::Kind::kRewarm)
    return text + fmt::format("; no moments{}: warmed up again over {} steps", since,
                              restart.rewarm_steps);
  return text + fmt::format("; no moments{}: bias-corrected", since);
}

}  // namespace headwater
