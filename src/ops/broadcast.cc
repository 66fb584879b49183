#include "ops/elementwise.h"
#include "ops/strides.h"

namespace headwater {
namespace {

std::vector<Type> infer(const InferContext& c) {
  c.require_count(1);
  const Shape& shape = c.attrs.get_ints("shape");
  const std::vector<int64_t>& axes = c.attrs.get_ints("axes");
  c.require(axes.size() == c.shape(0).size(), "wants one result axis per operand axis");
  for (size_t i = 0; i < axes.size(); ++i) {
    c.require(axes[i] >= 0 && axes[i] < static_cast<int64_t>(shape.size()), "no such axis");
    c.require(i == 0 || axes[i] > axes[i - 1], "axes must ascend");
    c.require(shape[static_cast<size_t>(axes[i])] == c.shape(0)[i], "kept extents must be equal");
  }
  c.require_shape(shape);
  return {Type{c.in(0).dtype, shape}};
}

std::vector<Value> vjp(const VjpContext& c) {
  const std::vector<int64_t>& kept = c.attrs().get_ints("axes");
  std::vector<int64_t> summed;
  for (int64_t axis = 0; axis < c.outputs[0].type().rank(); ++axis) {
    if (std::find(kept.begin(), kept.end(), axis) == kept.end()) summed.push_back(axis);
  }
  return {reduce_sum(c.output_grads[0], summed)};
}

template <class T>
void repeat(const KernelContext& c) {
  const std::vector<int64_t>& axes = c.attrs().get_ints("axes");
  const Strides from = row_major_strides(c.in_type(0).shape);
  Strides strides{};
  for (size_t i = 0; i < axes.size(); ++i) strides[static_cast<size_t>(axes[i])] = from[i];
  const T* x = c.in<T>(0);
  T* y = c.out<T>(0);
  for_each_strided(c.out_type(0).shape, strides, [=](int64_t i, int64_t j) { y[i] = x[j]; });
}

void cpu(const KernelContext& c) {
  if (dtype_size(c.in_type(0).dtype) == 4) {
    repeat<uint32_t>(c);
  } else {
    repeat<uint8_t>(c);
  }
}

std::vector<Sample> samples() {
  return {{.inputs = {{DType::kF32, {3}}}, .attrs = {{"shape", Shape{2, 3}}, {"axes", Shape{1}}}},
          {.inputs = {{DType::kF32, {2}}}, .attrs = {{"shape", Shape{2, 3}}, {"axes", Shape{0}}}},
          {.inputs = {{DType::kF32, {}}}, .attrs = {{"shape", Shape{2, 3}}, {"axes", Shape{}}}},
          {.inputs = {{DType::kPred, {2, 2}}},
           .attrs = {{"shape", Shape{2, 3, 2}}, {"axes", Shape{0, 2}}},
           .index_bound = 2,
           .differentiable = false}};
}

void stablehlo(HloContext& c) {
  c.emit_output(fmt::format("stablehlo.broadcast_in_dim {}, dims = {} : {}", c.in(0),
                            stablehlo_list(c.attrs().get_ints("axes")), c.signature()));
}

}  // namespace

const Op op::broadcast = {.name = "broadcast",
                          .infer = infer,
                          .vjp = vjp,
                          .cpu = cpu,
                          .stablehlo = stablehlo,
                          .cost = elementwise_cost,
                          .samples = samples};

Value broadcast(Value x, Shape shape, std::vector<int64_t> axes) {
  if (x.shape() == shape) return x;
  return x.graph().call1(op::broadcast, {x},
                         {{"shape", std::move(shape)}, {"axes", std::move(axes)}});
}

Value broadcast_to(Value x, const Shape& shape) {
  if (x.shape() == shape) return x;
  if (x.shape().size() > shape.size()) {
    throw GraphError(fmt::format("{}: {} does not broadcast to shape {}", x.graph().scope(),
                                 x.type().text(), shape_text(shape)));
  }
  const size_t missing = shape.size() - x.shape().size();
  Shape kept;
  std::vector<int64_t> axes;
  for (size_t axis = 0; axis < x.shape().size(); ++axis) {
    if (x.shape()[axis] == 1 && shape[axis + missing] != 1) continue;
    kept.push_back(x.shape()[axis]);
    axes.push_back(static_cast<int64_t>(axis + missing));
  }
  return broadcast(reshape(x, kept), shape, axes);
}

}  // namespace headwater
