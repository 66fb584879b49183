#include "kernels/activation.h"

#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/activation.cc"
#include <hwy/foreach_target.h>

#include "base/threads.h"
#include "kernels/isa.h"
#include "kernels/map-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headwater::kernels {
namespace HWY_NAMESPACE {
namespace {

void gelu_forward_range(GeluForm form, const float* x, float* y, float* derivative, int64_t begin,
                        int64_t end) {
  for_vectors(begin, end, [=](auto load, auto store) HW_INLINE_ATTR {
    const Gelu g = gelu(form, load(x));
    store(g.value, y);
    if (derivative != nullptr) store(g.derivative, derivative);
  });
}

void gelu_backward_range(GeluForm form, const float* x, const float* dy, float* dx, int64_t begin,
                         int64_t end) {
  for_vectors(begin, end, [=](auto load, auto store) HW_INLINE_ATTR {
    store(hn::Mul(load(dy), gelu(form, load(x)).derivative), dx);
  });
}

void erf_range(const float* x, float* y, int64_t begin, int64_t end) {
  for_vectors(begin, end, [=](auto load, auto store) HW_INLINE_ATTR { store(erf(load(x)), y); });
}

void tanh_range(const float* x, float* y, int64_t begin, int64_t end) {
  for_vectors(begin, end, [=](auto load, auto store) HW_INLINE_ATTR { store(tanh(load(x)), y); });
}

void exp_range(const float* x, float* y, int64_t begin, int64_t end) {
  for_vectors(begin, end, [=](auto load, auto store) HW_INLINE_ATTR { store(exp(load(x)), y); });
}

void log_range(const float* x, float* y, int64_t begin, int64_t end) {
  for_vectors(begin, end, [=](auto load, auto store) HW_INLINE_ATTR { store(log(load(x)), y); });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace headwater::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headwater::kernels {
HWY_EXPORT(gelu_forward_range);
HWY_EXPORT(gelu_backward_range);
HWY_EXPORT(erf_range);
HWY_EXPORT(tanh_range);
HWY_EXPORT(exp_range);
HWY_EXPORT(log_range);
namespace {
constexpr int64_t kGrain = 8192;
}  // namespace

void gelu_forward(GeluForm form, const float* x, float* y, float* derivative, int64_t n) {
  ensure_isa();
  parallel_for(n, kGrain, [=](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(gelu_forward_range)(form, x, y, derivative, begin, end);
  });
}

void gelu_backward(GeluForm form, const float* x, const float* dy, float* dx, int64_t n) {
  ensure_isa();
  parallel_for(n, kGrain, [=](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(gelu_backward_range)(form, x, dy, dx, begin, end);
  });
}

void erf(const float* x, float* y, int64_t n) {
  ensure_isa();
  parallel_for(n, kGrain, [=](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(erf_range)(x, y, begin, end);
  });
}

void tanh(const float* x, float* y, int64_t n) {
  ensure_isa();
  parallel_for(n, kGrain, [=](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(tanh_range)(x, y, begin, end);
  });
}

void exp(const float* x, float* y, int64_t n) {
  ensure_isa();
  parallel_for(n, kGrain, [=](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(exp_range)(x, y, begin, end);
  });
}

void log(const float* x, float* y, int64_t n) {
  ensure_isa();
  parallel_for(n, kGrain, [=](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(log_range)(x, y, begin, end);
  });
}

}  // namespace headwater::kernels
#endif  // HWY_ONCE
