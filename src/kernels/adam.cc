#include "kernels/adam.h"

#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/adam.cc"
#include <hwy/foreach_target.h>

#include "base/threads.h"
#include "kernels/isa.h"
#include "kernels/map-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headwater::kernels {
namespace HWY_NAMESPACE {
namespace {

void adam_range(const AdamOptions& o, const float* gradient, float* weight, float* m, float* v,
                int64_t begin, int64_t end) {
  const auto narrow = [](double x) { return set(static_cast<float>(x)); };
  const VecF beta1 = narrow(o.beta1), beta2 = narrow(o.beta2);
  const VecF rest1 = narrow(1 - o.beta1), rest2 = narrow(1 - o.beta2);
  for_vectors(begin, end, [=, &o](auto load, auto store) HW_INLINE_ATTR {
    const VecF g = hn::Mul(load(gradient), set(o.gradient_scale));
    const VecF m1 = hn::MulAdd(beta1, load(m), hn::Mul(rest1, g));
    const VecF v1 = hn::MulAdd(beta2, load(v), hn::Mul(hn::Mul(rest2, g), g));
    store(m1, m);
    store(v1, v);
    const VecF root = hn::Sqrt(hn::Mul(v1, set(o.v_scale)));
    const VecF w = load(weight);
    const VecF u = hn::MulAdd(set(o.weight_decay), w,
                              hn::Div(hn::Mul(m1, set(o.m_scale)), hn::Add(root, set(o.eps))));
    store(hn::NegMulAdd(set(o.learning_rate), u, w), weight);
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace headwater::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headwater::kernels {
HWY_EXPORT(adam_range);

void adam_update(const AdamOptions& options, int64_t n, const float* gradient, float* weight,
                 float* m, float* v) {
  ensure_isa();
  parallel_for(n, 16384, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(adam_range)
    (options, gradient, weight, m, v, begin, end);
  });
}

}  // namespace headwater::kernels
#endif  // HWY_ONCE
