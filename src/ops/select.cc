#include "ops/elementwise.h"

namespace headwater {
namespace {

std::vector<Type> infer(const InferContext& c) {
  c.require_count(3);
  c.require_dtype(0, DType::kPred);
  c.require_same_type(1, 2);
  c.require(c.shape(0) == c.shape(1), "condition and choices must have one shape");
  return {c.in(1)};
}

std::vector<Value> vjp(const VjpContext& c) {
  const Value condition = c.in(0), dy = c.output_grads[0];
  const Value zero = constant_like(dy, 0);
  return {Value(), select(condition, dy, zero), select(condition, zero, dy)};
}

void cpu(const KernelContext& c) {
  const auto* condition = c.in<uint8_t>(0);
  const auto pick = [&](auto zero) {
    using T = decltype(zero);
    const T* a = c.in<T>(1);
    const T* b = c.in<T>(2);
    T* y = c.out<T>(0);
    parallel_for(c.out_type(0).size(), kElementwiseGrain, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) y[i] = condition[i] != 0 ? a[i] : b[i];
    });
  };
  if (dtype_size(c.in_type(1).dtype) == 4) {
    pick(uint32_t{});
  } else {
    pick(uint8_t{});
  }
}

std::vector<Sample> samples() {
  const Type p{DType::kPred, {3, 4}}, f{DType::kF32, {3, 4}}, i{DType::kI32, {3, 4}};
  return {{.inputs = {p, f, f}, .index_bound = 2},
          {.inputs = {p, i, i}, .index_bound = 2, .differentiable = false},
          {.inputs = {p, p, p}, .index_bound = 2, .differentiable = false}};
}

void stablehlo(HloContext& c) {
  c.emit_output(stablehlo_select(c.in(0), c.in(1), c.in(2), c.out_type(0)));
}

}  // namespace

const Op op::select = {.name = "select",
                       .infer = infer,
                       .vjp = vjp,
                       .cpu = cpu,
                       .stablehlo = stablehlo,
                       .cost = elementwise_cost,
                       .samples = samples,
                       .in_place = {{0, 1}, {0, 2}}};

Value select(Value condition, Value if_true, Value if_false) {
  return condition.graph().call1(op::select, {condition, if_true, if_false});
}

}  // namespace headwater
