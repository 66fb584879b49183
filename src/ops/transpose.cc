#include <algorithm>
#include <numeric>

#include "ops/elementwise.h"
#include "ops/strides.h"

namespace headwater {
namespace {

std::vector<Type> infer(const InferContext& c) {
  c.require_count(1);
  const std::vector<int64_t>& permutation = c.attrs.get_ints("permutation");
  std::vector<int64_t> sorted = permutation, all(c.shape(0).size());
  std::sort(sorted.begin(), sorted.end());
  std::iota(all.begin(), all.end(), 0);
  c.require(sorted == all, "wants a permutation of all axes");
  Shape shape;
  for (const int64_t axis : permutation) shape.push_back(c.shape(0)[static_cast<size_t>(axis)]);
  return {Type{c.in(0).dtype, shape}};
}

std::vector<Value> vjp(const VjpContext& c) {
  const std::vector<int64_t>& permutation = c.attrs().get_ints("permutation");
  std::vector<int64_t> inverse(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) {
    inverse[static_cast<size_t>(permutation[i])] = static_cast<int64_t>(i);
  }
  return {transpose(c.output_grads[0], inverse)};
}

template <class T>
void permute(const KernelContext& c) {
  const std::vector<int64_t>& permutation = c.attrs().get_ints("permutation");
  const Strides from = row_major_strides(c.in_type(0).shape);
  Strides strides{};
  for (size_t axis = 0; axis < permutation.size(); ++axis) {
    strides[axis] = from[static_cast<size_t>(permutation[axis])];
  }
  const T* x = c.in<T>(0);
  T* y = c.out<T>(0);
  for_each_strided(c.out_type(0).shape, strides, [=](int64_t i, int64_t j) { y[i] = x[j]; });
}

void cpu(const KernelContext& c) {
  if (dtype_size(c.in_type(0).dtype) == 4) {
    permute<uint32_t>(c);
  } else {
    permute<uint8_t>(c);
  }
}

std::vector<Sample> samples() {
  return {{.inputs = {{DType::kF32, {2, 3}}}, .attrs = {{"permutation", Shape{1, 0}}}},
          {.inputs = {{DType::kF32, {2, 3, 4}}}, .attrs = {{"permutation", Shape{2, 0, 1}}}}};
}

void stablehlo(HloContext& c) {
  c.emit_output(fmt::format("stablehlo.transpose {}, dims = {} : {}", c.in(0),
                            stablehlo_list(c.attrs().get_ints("permutation")), c.signature()));
}

}  // namespace

const Op op::transpose = {.name = "transpose",
                          .infer = infer,
                          .vjp = vjp,
                          .cpu = cpu,
                          .stablehlo = stablehlo,
                          .cost = elementwise_cost,
                          .samples = samples};

Value transpose(Value x, std::vector<int64_t> permutation) {
  return x.graph().call1(op::transpose, {x}, {{"permutation", std::move(permutation)}});
}

}  // namespace headwater
