// The learning rate as a pure function of the step. `google` is that of google-research/electra:
// warm-up and decay multiply, so the peak itself is never reached.
//
//   lr(s) = peak * (1 - (min(s, T) - F) / (T - F))^power * min(1, s / W) * restart(s)
//
// The others are transformers': they rise to the peak in W steps, then
//   constant      stay there
//   linear        fall to 0 at T
//   cosine        fall along half a cosine to 0 at T (Loshchilov & Hutter 2017)
//   polynomial    fall by `power` to end_ratio * peak at T
//   inverse_sqrt  fall as sqrt(timescale / (s - W + timescale))
//   wsd           stay until decay_steps before T, then fall along `decay_form` to end_ratio * peak
//                 (Hu et al. 2024)
// and count their steps from F.
//
// s counts the updates done before this one. A resumed run therefore has the rates of an unbroken
// one, and the rate that is logged for a step is the one that step used.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headwater {

// Adam as ELECTRA has it does not correct the bias of its moments. From zero moments and gradients
// of constant size, the update is 3.2 times the rate at first and 6.6 times at the twelfth step;
// from scratch the warm-up hides that. A run that starts from weights without moments, late in a
// schedule, has no warm-up any more and needs one of these instead; so does a network that joins
// the training later.
struct Restart {
  enum class Kind {
    kNone,
    kRewarm,       // a second warm-up: min(1, t / rewarm_steps)
    kBiasCorrect,  // sqrt(1 - beta2^(t + 1)) / (1 - beta1^(t + 1)): the corrected step of Kingma
                   // and Ba 2015, section 2, for an epsilon that does not count
  };
  Kind kind = Kind::kNone;
  int64_t from_step = 0;  // t = s - from_step; nothing before
  int64_t rewarm_steps = 1000;
  double beta1 = 0.9, beta2 = 0.999;

  double factor(int64_t step) const;
};
std::string_view restart_name(Restart::Kind kind);  // "none", "rewarm", "bias-correct"

enum class ScheduleKind { kGoogle, kConstant, kLinear, kCosine, kPolynomial, kInverseSqrt, kWsd };
std::string_view schedule_name(ScheduleKind kind);  // as above
// By that name, or as transformers spells some: "constant_with_warmup", "warmup_stable_decay".
std::optional<ScheduleKind> find_schedule(std::string_view name);
std::vector<std::string> schedule_names();

enum class DecayForm { kCosine, kLinear, kOneMinusSqrt };  // of the end of `wsd`

struct Schedule {
  double peak = 0;           // over 0
  int64_t warmup_steps = 0;  // W; 0: no warm-up
  int64_t total_steps = 1;   // T, over 0
  double power = 1;          // of the decay; 1 is linear
  int64_t decay_from = 0;    // F, under T: where the decay begins
  Restart restart = {};
  ScheduleKind kind = ScheduleKind::kGoogle;
  double end_ratio = 0;     // of the peak: what polynomial and wsd fall to
  int64_t timescale = 0;    // of inverse_sqrt; 0: W, or 10000 without warm-up
  int64_t decay_steps = 0;  // of wsd; 0: a tenth of T - F
  DecayForm decay_form = DecayForm::kCosine;

  double rate(int64_t step) const;
  // For a person: "1e-04 at step 1500000, 0 at step 1800000; ...", from `first` on.
  std::string text(int64_t first) const;

 private:
  double google_factor(int64_t step) const;
  double factor(int64_t step) const;     // of the peak, after warm-up, for steps from F
  double wsd_factor(double left) const;  // with so many steps to go
};

}  // namespace headwater
