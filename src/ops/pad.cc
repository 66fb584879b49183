#include <cstring>

#include "ops/elementwise.h"
#include "ops/strides.h"

namespace headwater {
namespace {

std::vector<Type> infer(const InferContext& c) {
  c.require_count(1);
  const std::vector<int64_t>& low = c.attrs.get_ints("low");
  const std::vector<int64_t>& high = c.attrs.get_ints("high");
  c.require(low.size() == c.shape(0).size() && high.size() == low.size(),
            "wants a low and a high width per axis");
  Shape shape;
  for (size_t axis = 0; axis < low.size(); ++axis) {
    c.require(low[axis] >= 0 && high[axis] >= 0, "widths must not be negative");
    c.require(low[axis] <= kMaxElements && high[axis] <= kMaxElements, "too wide");
    shape.push_back(low[axis] + c.shape(0)[axis] + high[axis]);
  }
  return {Type{c.in(0).dtype, shape}};
}

std::vector<Value> vjp(const VjpContext& c) {
  std::vector<int64_t> limit;
  for (size_t axis = 0; axis < c.in(0).shape().size(); ++axis) {
    limit.push_back(c.attrs().get_ints("low")[axis] + c.in(0).shape()[axis]);
  }
  return {slice(c.output_grads[0], c.attrs().get_ints("low"), limit)};
}

template <class T>
void place(const KernelContext& c) {
  const Strides strides = row_major_strides(c.out_type(0).shape);
  int64_t first = 0;
  for (size_t axis = 0; axis < c.in_type(0).shape.size(); ++axis) {
    first += strides[axis] * c.attrs().get_ints("low")[axis];
  }
  const T* x = c.in<T>(0);
  T* y = c.out<T>(0) + first;
  for_each_strided(c.in_type(0).shape, strides, [=](int64_t i, int64_t j) { y[j] = x[i]; });
}

void cpu(const KernelContext& c) {
  if (c.out_type(0).size() == 0) return;
  std::memset(c.out<uint8_t>(0), 0, static_cast<size_t>(c.out_type(0).byte_size()));
  if (c.in_type(0).size() == 0) return;
  if (dtype_size(c.in_type(0).dtype) == 4) {
    place<uint32_t>(c);
  } else {
    place<uint8_t>(c);
  }
}

std::vector<Sample> samples() {
  return {
      {.inputs = {{DType::kF32, {2, 3}}}, .attrs = {{"low", Shape{1, 0}}, {"high", Shape{0, 2}}}}};
}

void stablehlo(HloContext& c) {
  const std::vector<int64_t>& low = c.attrs().get_ints("low");
  const Type scalar{c.out_type(0).dtype, {}};
  const std::string zero = c.constant(0, scalar);
  c.emit_output(
      fmt::format("stablehlo.pad {}, {}, low = {}, high = {}, interior = {} : ({}, {}) -> {}",
                  c.in(0), zero, stablehlo_list(low), stablehlo_list(c.attrs().get_ints("high")),
                  stablehlo_list(std::vector<int64_t>(low.size())), stablehlo_type(c.in_type(0)),
                  stablehlo_type(scalar), stablehlo_type(c.out_type(0))));
}

}  // namespace

const Op op::pad = {.name = "pad",
                    .infer = infer,
                    .vjp = vjp,
                    .cpu = cpu,
                    .stablehlo = stablehlo,
                    .cost = elementwise_cost,
                    .samples = samples};

Value pad(Value x, std::vector<int64_t> low, std::vector<int64_t> high) {
  return x.graph().call1(op::pad, {x}, {{"low", std::move(low)}, {"high", std::move(high)}});
}

}  // namespace headwater
