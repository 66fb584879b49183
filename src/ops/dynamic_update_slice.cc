// An operand with a part of it replaced, at a place that is a value: operands x, the new part and
// the starts. Written over x where nobody reads it afterwards, so that a cache in the state grows
// in place.
#include <cstring>

#include "ops/dynamic_slice.h"
#include "ops/elementwise.h"

namespace headwater {
namespace {

std::vector<Type> infer(const InferContext& c) {
  c.require(c.inputs.size() >= 2, "wants an operand and its new part");
  c.require(c.in(0).dtype == c.in(1).dtype, "part and whole differ in type");
  require_starts(c, 2, c.shape(0), c.shape(1));
  return {c.in(0)};
}

std::vector<Value> vjp(const VjpContext& c) {
  const std::vector<Value> starts(c.node.inputs.begin() + 2, c.node.inputs.end());
  const Value dy = c.output_grads[0];
  std::vector<Value> grads(c.node.inputs.size());
  grads[0] = dynamic_update_slice(dy, constant_like(c.in(1), 0), starts);
  grads[1] = dynamic_slice(dy, starts, c.in(1).shape());
  return grads;
}

template <class T>
void put(const KernelContext& c) {
  const Shape &whole = c.in_type(0).shape, &part = c.in_type(1).shape;
  const Strides strides = row_major_strides(whole);
  const T* x = c.in<T>(1);
  T* y = c.out<T>(0) + part_offset(c, 2, whole, part, strides);
  for_each_strided(part, strides, [=](int64_t i, int64_t j) { y[j] = x[i]; });
}

void cpu(const KernelContext& c) {
  const auto bytes = static_cast<size_t>(c.out_type(0).byte_size());
  if (bytes > 0 && c.out<uint8_t>(0) != c.in<uint8_t>(0))
    std::memcpy(c.out<uint8_t>(0), c.in<uint8_t>(0), bytes);
  if (c.in_type(1).size() == 0) return;
  if (dtype_size(c.in_type(0).dtype) == 4) {
    put<uint32_t>(c);
  } else {
    put<uint8_t>(c);
  }
}

std::vector<Sample> samples() {
  const Type start{DType::kI32, {}};
  return {{.inputs = {{DType::kF32, {4, 5}}, {DType::kF32, {2, 3}}, start, start}},
          {.inputs = {{DType::kI32, {4}}, {DType::kI32, {2}}, start}, .differentiable = false}};
}

void stablehlo(HloContext& c) {
  c.emit_output(fmt::format("stablehlo.dynamic_update_slice {} : {}", fmt::join(c.inputs(), ", "),
                            c.signature()));
}

}  // namespace

const Op op::dynamic_update_slice = {.name = "dynamic_update_slice",
                                     .infer = infer,
                                     .vjp = vjp,
                                     .cpu = cpu,
                                     .stablehlo = stablehlo,
                                     .cost = elementwise_cost,
                                     .samples = samples,
                                     .in_place = {{0, 0}}};

Value dynamic_update_slice(Value x, Value part, const std::vector<Value>& starts) {
  std::vector<Value> inputs{x, part};
  inputs.insert(inputs.end(), starts.begin(), starts.end());
  return x.graph().call1(op::dynamic_update_slice, std::move(inputs));
}

}  // namespace headwater
