// Vector arithmetic shared by the kernels, for the instruction set being compiled: exp, log, the
// normal distribution (GELU), erf, Threefry bits. Coefficients are minimax fits printed by
// tools/fit_kernel_polynomials.py. Errors are those of tests/kernels/math_test.cc.
#if defined(HEADWATER_KERNELS_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADWATER_KERNELS_MATH_INL_H_
#undef HEADWATER_KERNELS_MATH_INL_H_
#else
#define HEADWATER_KERNELS_MATH_INL_H_
#endif

#include <hwy/highway.h>

#include <cmath>
#include <cstdint>
#include <utility>

#include "base/threefry.h"
#include "kernels/activation.h"
#include "kernels/dropout.h"

HWY_BEFORE_NAMESPACE();
namespace headwater::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::ScalableTag<float>;
using I32 = hn::RebindToSigned<F32>;
using U32 = hn::RebindToUnsigned<F32>;
using VecF = hn::Vec<F32>;
using VecI = hn::Vec<I32>;
using VecU = hn::Vec<U32>;
using MaskF = hn::Mask<F32>;

constexpr int64_t kLanes = hn::MaxLanes(F32());

HWY_INLINE VecF set(float x) { return hn::Set(F32(), x); }

// Horner's rule: c0 + c1 x + c2 x^2 + ...
HWY_INLINE VecF polynomial(VecF, float c) { return set(c); }
template <class... Rest>
HWY_INLINE VecF polynomial(VecF x, float c, Rest... rest) {
  return hn::MulAdd(polynomial(x, rest...), x, set(c));
}

// Loads and stores of the first `count` <= kLanes elements; missing ones read as zero.
HWY_INLINE VecF load_first(const float* from, int64_t count) {
  if (count >= kLanes) return hn::LoadU(F32(), from);
  HWY_ALIGN float lanes[kLanes] = {};
  for (int64_t i = 0; i < count; ++i) lanes[i] = from[i];
  return hn::Load(F32(), lanes);
}
HWY_INLINE void store_first(VecF v, float* to, int64_t count) {
  if (count >= kLanes) return hn::StoreU(v, F32(), to);
  HWY_ALIGN float lanes[kLanes];
  hn::Store(v, F32(), lanes);
  for (int64_t i = 0; i < count; ++i) to[i] = lanes[i];
}

HWY_INLINE float sum_lanes(VecF v) { return hn::GetLane(hn::SumOfLanes(F32(), v)); }
HWY_INLINE float max_lanes(VecF v) { return hn::GetLane(hn::MaxOfLanes(F32(), v)); }

// 2^n for integral n in [-126, 127].
HWY_INLINE VecF power_of_two(VecI n) {
  return hn::BitCast(F32(), hn::ShiftLeft<23>(hn::Add(n, hn::Set(I32(), 127))));
}

// e^x as e * 2^n with e in [sqrt(1/2), sqrt(2)].
struct ScaledExp {
  VecF e;
  VecI n;
};
HWY_INLINE ScaledExp scaled_exp(VecF x) {
  const VecI n = hn::NearestInt(hn::Mul(x, set(1.44269504f)));
  const VecF k = hn::ConvertTo(F32(), n);
  VecF r = hn::NegMulAdd(k, set(0.693359375f), x);
  r = hn::NegMulAdd(k, set(-2.12194440e-4f), r);
  const VecF p =
      polynomial(r, 0.49999994f, 0.166665211f, 0.0416682586f, 0.00836866815f, 0.0013821302f);
  return {hn::Add(hn::MulAdd(hn::Mul(r, r), p, r), set(1.0f)), n};
}

// e^x for x <= 88, error below 1.5 ulp; 0 below -87.3; NaN of NaN.
HWY_INLINE VecF exp_bounded(VecF x) {
  const ScaledExp s = scaled_exp(x);
  return hn::IfThenZeroElse(hn::Lt(x, set(-87.33f)), hn::Mul(s.e, power_of_two(s.n)));
}

// The same for any x: infinity above 88.7.
HWY_INLINE VecF exp(VecF x) {
  const ScaledExp s = scaled_exp(x);
  const VecI half = hn::ShiftRight<1>(s.n);  // in two steps: 2^128 is no float
  const VecF y = hn::Mul(hn::Mul(s.e, power_of_two(half)), power_of_two(hn::Sub(s.n, half)));
  return hn::IfThenElse(hn::Gt(x, set(88.72f)), hn::Inf(F32()),
                        hn::IfThenZeroElse(hn::Lt(x, set(-87.33f)), y));
}

// Natural logarithm of a positive normal number, error below 2 ulp.
HWY_INLINE VecF log(VecF x) {
  // x = 2^n m with m in [sqrt(1/2), sqrt(2)).
  const VecI bits = hn::BitCast(I32(), x);
  const VecI shifted = hn::Sub(bits, hn::Set(I32(), 0x3F3504F3));
  const VecI n = hn::ShiftRight<23>(shifted);
  const VecF m = hn::BitCast(F32(), hn::Sub(bits, hn::ShiftLeft<23>(n)));
  const VecF f = hn::Sub(m, set(1.0f));
  const VecF k = hn::ConvertTo(F32(), n);
  const VecF p = polynomial(f, 0.333333135f, -0.250000089f, 0.20002073f, -0.166679963f,
                            0.142203271f, -0.12406034f, 0.118835725f, -0.116714247f, 0.0675090179f);
  const VecF f2 = hn::Mul(f, f);
  VecF y = hn::Mul(hn::Mul(f2, f), p);
  y = hn::MulAdd(k, set(-2.12194440e-4f), y);
  y = hn::NegMulAdd(set(0.5f), f2, y);
  return hn::MulAdd(k, set(0.693359375f), hn::Add(f, y));
}

// ln(1 + x) for x in [0, 1]: what rounding 1 + x loses is added back to first order.
HWY_INLINE VecF log_one_plus(VecF x) {
  const VecF u = hn::Add(set(1.0f), x);
  return hn::Add(log(u), hn::Div(hn::Sub(x, hn::Sub(u, set(1.0f))), u));
}

// Standard normal distribution Phi and its density phi at x: one exponential serves both.
struct Normal {
  VecF distribution, density;
};
HWY_INLINE Normal normal(VecF x) {
  const VecF t = hn::Abs(x);
  const VecF density = hn::Mul(exp_bounded(hn::Mul(hn::Mul(t, t), set(-0.5f))), set(0.398942280f));
  // Phi(-t) = e^(-t^2/2) s P(s), s = 1/(1 + 0.35 t).
  const VecF s = hn::Div(set(1.0f), hn::MulAdd(t, set(0.35f), set(1.0f)));
  const VecF p =
      polynomial(s, 0.139621407f, 0.139861822f, 0.119833238f, 0.10550645f, -0.0231059808f,
                 0.159168333f, -0.255708992f, 0.143969104f, -0.0291453972f);
  const VecF tail = hn::Mul(hn::Mul(density, set(2.50662827f)), hn::Mul(s, p));
  return {hn::IfThenElse(hn::Lt(x, hn::Zero(F32())), tail, hn::Sub(set(1.0f), tail)), density};
}

// GELU(x) = x Phi(x), the erf form, and its derivative Phi(x) + x phi(x).
struct Gelu {
  VecF value, derivative;
};
HWY_INLINE Gelu gelu(VecF x) {
  const Normal n = normal(x);
  return {hn::Mul(x, n.distribution), hn::MulAdd(x, n.density, n.distribution)};
}

// The tanh form: x s, s = (1 + tanh u) / 2 = 1 / (1 + e^-2u), u = sqrt(2 / pi) (x + 0.044715 x^3);
// s (1 - s) without cancellation.
HWY_INLINE Gelu gelu_tanh(VecF x) {
  constexpr float kTwoRoot = 1.595769122f, kCubic = 0.044715f;  // 2 sqrt(2 / pi)
  // Beyond 12 s is 0 or 1, and squares stay finite.
  const VecF t = hn::Min(hn::Max(x, set(-12.0f)), set(12.0f)), t2 = hn::Mul(t, t);
  const VecF u = hn::Mul(hn::Mul(set(kTwoRoot), t), hn::MulAdd(set(kCubic), t2, set(1.0f)));
  const VecF e = exp_bounded(hn::Neg(hn::Abs(u)));
  const VecF large = hn::Div(set(1.0f), hn::Add(set(1.0f), e)), small = hn::Mul(e, large);
  const VecF s = hn::IfThenElse(hn::Lt(u, hn::Zero(F32())), small, large);
  const VecF du = hn::MulAdd(set(3 * kCubic * kTwoRoot), t2, set(kTwoRoot));
  return {hn::Mul(x, s), hn::MulAdd(hn::Mul(x, du), hn::Mul(large, small), s)};
}

HWY_INLINE Gelu gelu(GeluForm form, VecF x) {
  return form == GeluForm::kTanh ? gelu_tanh(x) : gelu(x);
}

// Error function, error below 2 ulp.
HWY_INLINE VecF erf(VecF x) {
  const VecF x2 = hn::Mul(x, x);
  const VecF p = polynomial(x2, 0.128379166f, -0.37612626f, 0.112835787f, -0.0268533472f,
                            0.00518716266f, -0.000799786532f, 7.80698101e-05f);
  const VecF near = hn::MulAdd(x, p, x);
  const VecF n = normal(hn::Mul(hn::Abs(x), set(1.41421356f))).distribution;
  const VecF far = hn::CopySign(hn::MulSub(set(2.0f), n, set(1.0f)), x);
  return hn::IfThenElse(hn::Le(x2, set(1.0f)), near, far);
}

// Hyperbolic tangent: an odd polynomial near 0, 1 - 2 / (e^2x + 1) beyond; error below 3 ulp.
HWY_INLINE VecF tanh(VecF x) {
  const VecF x2 = hn::Mul(x, x);
  const VecF p = polynomial(x2, -0.333333313f, 0.133332208f, -0.0539481789f, 0.021706894f,
                            -0.00819001347f, 0.00215268368f);
  const VecF near = hn::MulAdd(hn::Mul(x, x2), p, x);
  const VecF e = exp(hn::Mul(set(2.0f), hn::Abs(x)));
  const VecF far = hn::Sub(set(1.0f), hn::Div(set(2.0f), hn::Add(e, set(1.0f))));
  return hn::IfThenElse(hn::Lt(hn::Abs(x), set(0.625f)), near, hn::CopySign(far, x));
}

// 1 / (1 + e^-x): by e^-|x|, which cannot overflow.
HWY_INLINE VecF sigmoid(VecF x) {
  const VecF e = exp_bounded(hn::Neg(hn::Abs(x)));
  const VecF large = hn::Div(set(1.0f), hn::Add(set(1.0f), e));
  return hn::IfThenElse(hn::Lt(x, hn::Zero(F32())), hn::Mul(e, large), large);
}

// Rotation to the left; by 8 and 16 bits as one byte shuffle where there is no rotate instruction.
template <int kBits>
HWY_INLINE VecU rotate_left(VecU v) {
#if HWY_TARGET > HWY_AVX3
  if constexpr (kBits % 8 == 0) {
    constexpr uint8_t s = kBits / 8;
    alignas(16) static constexpr uint8_t kOrder[16] = {
        (4 - s) & 3,        (5 - s) & 3,        (6 - s) & 3,        (7 - s) & 3,
        4 + ((4 - s) & 3),  4 + ((5 - s) & 3),  4 + ((6 - s) & 3),  4 + ((7 - s) & 3),
        8 + ((4 - s) & 3),  8 + ((5 - s) & 3),  8 + ((6 - s) & 3),  8 + ((7 - s) & 3),
        12 + ((4 - s) & 3), 12 + ((5 - s) & 3), 12 + ((6 - s) & 3), 12 + ((7 - s) & 3)};
    const hn::Repartition<uint8_t, U32> u8;
    return hn::BitCast(U32(), hn::TableLookupBytes(hn::BitCast(u8, v), hn::LoadDup128(u8, kOrder)));
  } else {
    return hn::Or(hn::ShiftLeft<kBits>(v), hn::ShiftRight<32 - kBits>(v));
  }
#else
  return hn::RotateRight<32 - kBits>(v);
#endif
}

// The bits of base/threefry.h (Threefry-2x32, 20 rounds, x0 ^ x1) for consecutive indices: several
// vectors at once, so that their dependency chains overlap.
class Threefry {
 public:
  explicit Threefry(Key key) : key_(key), k2_(key.k0 ^ key.k1 ^ 0x1BD11BDAu) {}

  // bits[v] holds the bits of indices index + v * kLanes + lane.
  template <int kVectors>
  HWY_INLINE void bits(uint64_t index, VecU (&out)[kVectors]) const {
    constexpr auto kAll = std::make_integer_sequence<int, kVectors>();
    const auto low = static_cast<uint32_t>(index);
    if (HWY_LIKELY(low <= UINT32_MAX - static_cast<uint32_t>(kVectors * kLanes)))
      block(kAll, static_cast<uint32_t>(index >> 32), low, out);
    else across_wrap(index, out);
  }

 private:
  template <int kBits, int... v, int kVectors>
  static HWY_INLINE void round(std::integer_sequence<int, v...>, VecU (&x0)[kVectors],
                               VecU (&x1)[kVectors]) {
    ((x0[v] = hn::Add(x0[v], x1[v])), ...);
    ((x1[v] = hn::Xor(rotate_left<kBits>(x1[v]), x0[v])), ...);
  }
  template <int kA, int kB, int kC, int kD, int... v, int kVectors>
  static HWY_INLINE void four_rounds(std::integer_sequence<int, v...> all, VecU (&x0)[kVectors],
                                     VecU (&x1)[kVectors], uint32_t add0, uint32_t add1) {
    round<kA>(all, x0, x1);
    round<kB>(all, x0, x1);
    round<kC>(all, x0, x1);
    round<kD>(all, x0, x1);
    const VecU a0 = hn::Set(U32(), add0), a1 = hn::Set(U32(), add1);
    ((x0[v] = hn::Add(x0[v], a0), x1[v] = hn::Add(x1[v], a1)), ...);
  }
  template <int... v, int kVectors>
  HWY_INLINE void block(std::integer_sequence<int, v...> all, uint32_t high, uint32_t low,
                        VecU (&out)[kVectors]) const {
    const uint32_t k0 = key_.k0, k1 = key_.k1;
    VecU x0[kVectors], x1[kVectors];
    ((x0[v] = hn::Set(U32(), high + k0),
      x1[v] = hn::Iota(U32(), low + k1 + static_cast<uint32_t>(v * kLanes))),
     ...);
    four_rounds<13, 15, 26, 6>(all, x0, x1, k1, k2_ + 1);
    four_rounds<17, 29, 16, 24>(all, x0, x1, k2_, k0 + 2);
    four_rounds<13, 15, 26, 6>(all, x0, x1, k0, k1 + 3);
    four_rounds<17, 29, 16, 24>(all, x0, x1, k1, k2_ + 4);
    four_rounds<13, 15, 26, 6>(all, x0, x1, k2_, k0 + 5);
    ((out[v] = hn::Xor(x0[v], x1[v])), ...);
  }
  // The low counter word wraps inside the block: one in 2^32 indices.
  template <int kVectors>
  HWY_NOINLINE void across_wrap(uint64_t index, VecU (&out)[kVectors]) const {
    HWY_ALIGN uint32_t lanes[kLanes];
    for (auto& vector : out) {
      for (auto& lane : lanes) lane = key_.bits(index++);
      vector = hn::Load(U32(), lanes);
    }
  }

  Key key_;
  uint32_t k2_;
};

// Keeps an element when uniform(bits) < keep_prob, with uniform = (bits >> 9) 2^-23: compared as
// integers, which is the same decision. Kept elements are multiplied by 1 / keep_prob.
class DropoutMask {
 public:
  explicit DropoutMask(const Dropout& dropout)
      : threefry_(dropout.key),
        offset_(dropout.offset),
        threshold_(static_cast<int32_t>(std::ceil(double{dropout.keep_prob()} * 8388608.0))),
        scale_(1.0f / dropout.keep_prob()) {}

  float scale() const { return scale_; }

  // Factors (0 or 1 / keep_prob) of elements index + v * kLanes + lane, counted from the offset.
  template <int kVectors>
  HWY_INLINE void factors(int64_t index, VecF (&out)[kVectors]) const {
    VecU bits[kVectors];
    threefry_.bits(offset_ + static_cast<uint64_t>(index), bits);
    apply(std::make_integer_sequence<int, kVectors>(), bits, out);
  }

 private:
  template <int... v, int kVectors>
  HWY_INLINE void apply(std::integer_sequence<int, v...>, const VecU (&bits)[kVectors],
                        VecF (&out)[kVectors]) const {
    const VecI threshold = hn::Set(I32(), threshold_);
    const VecF scale = set(scale_);
    ((out[v] = hn::IfThenElseZero(
          hn::RebindMask(F32(), hn::Lt(hn::BitCast(I32(), hn::ShiftRight<9>(bits[v])), threshold)),
          scale)),
     ...);
  }

  Threefry threefry_;
  uint64_t offset_;
  int32_t threshold_;
  float scale_;
};

}  // namespace HWY_NAMESPACE
}  // namespace headwater::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
