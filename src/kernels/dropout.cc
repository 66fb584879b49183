#include "kernels/dropout.h"

#include <algorithm>

#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/dropout.cc"
#include <hwy/foreach_target.h>

#include "base/threads.h"
#include "kernels/isa.h"
#include "kernels/map-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headwater::kernels {
namespace HWY_NAMESPACE {
namespace {

void dropout_range(const Dropout& dropout, const float* x, float* y, int64_t begin, int64_t end) {
  const DropoutMask mask(dropout);
  for_vector_groups(end - begin, [=, &mask](int64_t at, auto group, int64_t count) HW_INLINE_ATTR {
    const int64_t i = begin + at;
    VecF factor[decltype(group)::value];
    mask.factors(i, factor);
    for_each_vector(group, [&](auto v) HW_INLINE_ATTR {
      const int64_t offset = v * kLanes;
      const VecF kept = hn::Mul(load_first(x + i + offset, count - offset), factor[v]);
      store_first(kept, y + i + offset, count - offset);
    });
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace headwater::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headwater::kernels {
HWY_EXPORT(dropout_range);

void dropout(const Dropout& dropout, const float* x, float* y, int64_t n) {
  ensure_isa();
  if (!dropout.active()) {
    if (x != y) std::copy(x, x + n, y);
    return;
  }
  parallel_for(n, 16384, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(dropout_range)(dropout, x, y, begin, end);
  });
}

}  // namespace headwater::kernels
#endif  // HWY_ONCE
