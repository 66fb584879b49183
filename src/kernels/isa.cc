#include "kernels/isa.h"

#include <algorithm>
#include <cstdlib>

#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/isa.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "base/log.h"

HWY_BEFORE_NAMESPACE();
namespace headwater::kernels {
namespace HWY_NAMESPACE {
int64_t this_target() { return HWY_TARGET; }
}  // namespace HWY_NAMESPACE
}  // namespace headwater::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headwater::kernels {
HWY_EXPORT(this_target);
namespace {

struct Target {
  Isa isa;
  std::string_view name;
  int64_t highway;
};
constexpr Target kTargets[] = {{Isa::kSse4, "sse4", HWY_SSE4},
                               {Isa::kAvx2, "avx2", HWY_AVX2},
                               {Isa::kAvx512, "avx512", HWY_AVX3}};

int64_t targets_up_to(Isa cap) {
  int64_t mask = 0;
  for (const auto& target : kTargets)
    if (target.isa <= cap) mask |= target.highway;
  return mask;
}

// The cap the user asked for; the widest set where nothing or nonsense is asked.
Isa cap_from_environment() {
  const char* value = std::getenv("HEADWATER_MAX_ISA");
  if (value == nullptr || *value == '\0') return Isa::kAvx512;
  for (const auto& target : kTargets)
    if (target.name == value) return target.isa;
  log_warning("HEADWATER_MAX_ISA={} is not one of sse4, avx2, avx512; ignored", value);
  return Isa::kAvx512;
}

}  // namespace

std::string_view isa_name(Isa isa) { return kTargets[static_cast<int>(isa)].name; }

const std::vector<Isa>& supported_isas() {
  static const std::vector<Isa> isas = [] {
    std::vector<Isa> found{Isa::kSse4};
    for (const auto& target : kTargets)
      if (target.isa != Isa::kSse4 && (hwy::SupportedTargets() & target.highway) != 0)
        found.push_back(target.isa);
    return found;
  }();
  return isas;
}

Isa active_isa() {
  ensure_isa();
  const int64_t chosen = HWY_DYNAMIC_DISPATCH(this_target)();
  for (const auto& target : kTargets)
    if (target.highway == chosen) return target.isa;
  return Isa::kSse4;
}

void set_max_isa(Isa cap) {
  hwy::GetChosenTarget().Update(hwy::SupportedTargets() & targets_up_to(cap));
}

void ensure_isa() {
  static const bool applied = [] {
    if (!hwy::GetChosenTarget().IsInitialized()) set_max_isa(cap_from_environment());
    return true;
  }();
  static_cast<void>(applied);
}

}  // namespace headwater::kernels
#endif  // HWY_ONCE
