// What elementwise operators share: shape rules, kernels over flat ranges, samples for the battery.
#pragma once

#include <cmath>

#include "base/threads.h"
#include "graph/op.h"
#include "graph/stablehlo_context.h"
#include "ops/ops.h"
#include "ops/registry.h"

namespace headwater {

constexpr int64_t kElementwiseGrain = 1 << 14;  // elements per chunk: 64 KiB of f32

std::vector<Type> infer_unary_f32(const InferContext& c);
std::vector<Type> infer_binary_arithmetic(const InferContext& c);  // f32, i32, u32
std::vector<Type> infer_binary_bits(const InferContext& c);        // u32, pred
std::vector<Type> infer_shift(const InferContext& c);              // u32
std::vector<Sample> unary_samples();
std::vector<Sample> positive_samples();  // for log, sqrt, rsqrt
std::vector<Sample> binary_samples();
std::vector<Sample> bit_samples();
Cost elementwise_cost(const Node& node, std::span<const Type* const> input_types);

// Both operands brought to their common NumPy shape; as they are when there is none.
std::pair<Value, Value> broadcast_both(Value a, Value b);

// "stablehlo.add" of operands and a result of one type.
void stablehlo_elementwise(HloContext& c, std::string_view operation);
// Two values of a type compared: "EQ", "NE", "LT", "LE", "GT" or "GE". Returns the result's name.
std::string stablehlo_compare(HloContext& c, std::string_view direction, const std::string& a,
                              const std::string& b, const Type& type);
// The operation, for emit().
std::string stablehlo_select(const std::string& condition, const std::string& if_true,
                             const std::string& if_false, const Type& type);

template <class Out, class In, class F>
void map_unary(const KernelContext& c, F f) {
  const In* x = c.in<In>(0);
  Out* y = c.out<Out>(0);
  parallel_for(c.out_type(0).size(), kElementwiseGrain, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) y[i] = f(x[i]);
  });
}

template <class Out, class In, class F>
void map_binary(const KernelContext& c, F f) {
  const In* a = c.in<In>(0);
  const In* b = c.in<In>(1);
  Out* y = c.out<Out>(0);
  parallel_for(c.out_type(0).size(), kElementwiseGrain, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) y[i] = f(a[i], b[i]);
  });
}

// Calls f with a value of the operand's element type: f(float{}), f(int32_t{}), ...
template <class F>
void with_arithmetic_type(DType dtype, F f) {
  switch (dtype) {
    case DType::kF32: f(float{}); break;
    case DType::kI32: f(int32_t{}); break;
    case DType::kU32: f(uint32_t{}); break;
    default: HW_CHECK(false, "not an arithmetic type: {}", dtype_name(dtype));
  }
}

// add, sub, mul: integers wrap around, so both integer types are computed unsigned (the same bits).
template <class F>
void map_wrapping(const KernelContext& c, F f) {
  if (c.in_type(0).dtype == DType::kF32) {
    map_binary<float, float>(c, f);
  } else {
    map_binary<uint32_t, uint32_t>(c, f);
  }
}

// An arithmetic operator on each of its types.
template <class F>
void map_arithmetic(const KernelContext& c, F f) {
  with_arithmetic_type(c.in_type(0).dtype, [&](auto zero) {
    using T = decltype(zero);
    map_binary<T, T>(c, f);
  });
}

}  // namespace headwater
