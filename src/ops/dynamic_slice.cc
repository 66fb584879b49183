// A part of an operand, of a fixed shape, at a place that is a value: operands x and the starts.
#include "ops/dynamic_slice.h"

#include <algorithm>

#include "ops/elementwise.h"

namespace headwater {

void require_starts(const InferContext& c, size_t first, const Shape& whole, const Shape& part) {
  c.require_count(first + whole.size());
  for (size_t axis = 0; axis < whole.size(); ++axis)
    c.require(c.in(first + axis) == Type{DType::kI32, {}}, "a start must be i32[]");
  c.require(part.size() == whole.size(), "part and whole differ in rank");
  for (size_t axis = 0; axis < whole.size(); ++axis)
    c.require(part[axis] <= whole[axis], "the part is larger than the whole");
}

int64_t part_offset(const KernelContext& c, size_t first, const Shape& whole, const Shape& part,
                    const Strides& strides) {
  int64_t offset = 0;
  for (size_t axis = 0; axis < whole.size(); ++axis) {
    const int64_t start = *c.in<int32_t>(first + axis);
    offset += strides[axis] * std::clamp<int64_t>(start, 0, whole[axis] - part[axis]);
  }
  return offset;
}

namespace {

std::vector<Type> infer(const InferContext& c) {
  c.require(!c.inputs.empty(), "wants an operand");
  const Shape& part = c.attrs.get_ints("shape");
  c.require_shape(part);
  require_starts(c, 1, c.shape(0), part);
  return {Type{c.in(0).dtype, part}};
}

std::vector<Value> vjp(const VjpContext& c) {
  const std::vector<Value> starts(c.node.inputs.begin() + 1, c.node.inputs.end());
  std::vector<Value> grads(c.node.inputs.size());
  grads[0] = dynamic_update_slice(constant_like(c.in(0), 0), c.output_grads[0], starts);
  return grads;
}

template <class T>
void cut(const KernelContext& c) {
  const Shape &whole = c.in_type(0).shape, &part = c.out_type(0).shape;
  const Strides strides = row_major_strides(whole);
  const T* x = c.in<T>(0) + part_offset(c, 1, whole, part, strides);
  T* y = c.out<T>(0);
  for_each_strided(part, strides, [=](int64_t i, int64_t j) { y[i] = x[j]; });
}

void cpu(const KernelContext& c) {
  if (c.out_type(0).size() == 0) return;
  if (dtype_size(c.in_type(0).dtype) == 4) {
    cut<uint32_t>(c);
  } else {
    cut<uint8_t>(c);
  }
}

std::vector<Sample> samples() {
  const Type start{DType::kI32, {}};
  return {{.inputs = {{DType::kF32, {4, 5}}, start, start}, .attrs = {{"shape", Shape{2, 3}}}},
          {.inputs = {{DType::kI32, {4}}, start},
           .attrs = {{"shape", Shape{2}}},
           .differentiable = false}};
}

void stablehlo(HloContext& c) {
  c.emit_output(fmt::format("stablehlo.dynamic_slice {}, sizes = {} : {}",
                            fmt::join(c.inputs(), ", "), stablehlo_list(c.out_type(0).shape),
                            c.signature()));
}

}  // namespace

const Op op::dynamic_slice = {.name = "dynamic_slice",
                              .infer = infer,
                              .vjp = vjp,
                              .cpu = cpu,
                              .stablehlo = stablehlo,
                              .cost = elementwise_cost,
                              .samples = samples};

Value dynamic_slice(Value x, const std::vector<Value>& starts, Shape shape) {
  std::vector<Value> inputs{x};
  inputs.insert(inputs.end(), starts.begin(), starts.end());
  return x.graph().call1(op::dynamic_slice, std::move(inputs), {{"shape", std::move(shape)}});
}

}  // namespace headwater
