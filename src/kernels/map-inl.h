// Loops over arrays for the instruction set being compiled: a function of vectors applied to every
// element of up to three inputs, tails included.
#if defined(HEADWATER_KERNELS_MAP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADWATER_KERNELS_MAP_INL_H_
#undef HEADWATER_KERNELS_MAP_INL_H_
#else
#define HEADWATER_KERNELS_MAP_INL_H_
#endif

#include <cstdint>
#include <type_traits>
#include <utility>

#include "kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headwater::kernels {
namespace HWY_NAMESPACE {

// body(load, store) with load(p) = p[i..] and store(v, p) for whole vectors, then once for the
// tail.
template <class Body>
HWY_INLINE void for_vectors(int64_t begin, int64_t end, const Body& body) {
  int64_t i = begin;
  for (; i + kLanes <= end; i += kLanes)
    body([i](const float* p) HW_INLINE_ATTR { return hn::LoadU(F32(), p + i); },
         [i](VecF v, float* p) HW_INLINE_ATTR { hn::StoreU(v, F32(), p + i); });
  if (const int64_t count = end - i; count > 0)
    body([i, count](const float* p) HW_INLINE_ATTR { return load_first(p + i, count); },
         [i, count](VecF v, float* p) HW_INLINE_ATTR { store_first(v, p + i, count); });
}

// body(v) for v = 0 .. kCount-1 as compile-time constants: arrays of vectors indexed by them stay
// in registers.
template <int kCount, class Body>
HWY_INLINE void for_each_vector(std::integral_constant<int, kCount>, const Body& body) {
  [&]<int... v>(std::integer_sequence<int, v...>) HW_INLINE_ATTR {
    (body(std::integral_constant<int, v>()), ...);
  }
  (std::make_integer_sequence<int, kCount>());
}

// body(i, group, count) for groups of four vectors, then single ones: `group` is the number of
// vectors as a type, `count` the elements from i to the end (fewer than a vector at the tail).
template <class Body>
HWY_INLINE void for_vector_groups(int64_t n, const Body& body) {
  int64_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) body(i, std::integral_constant<int, 4>(), n - i);
  for (; i < n; i += kLanes) body(i, std::integral_constant<int, 1>(), n - i);
}

}  // namespace HWY_NAMESPACE
}  // namespace headwater::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
