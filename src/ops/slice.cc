#include "ops/elementwise.h"
#include "ops/strides.h"

namespace headwater {
namespace {

std::vector<Type> infer(const InferContext& c) {
  c.require_count(1);
  const std::vector<int64_t>& start = c.attrs.get_ints("start");
  const std::vector<int64_t>& limit = c.attrs.get_ints("limit");
  c.require(start.size() == c.shape(0).size() && limit.size() == start.size(),
            "wants a start and a limit per axis");
  Shape shape;
  for (size_t axis = 0; axis < start.size(); ++axis) {
    c.require(0 <= start[axis] && start[axis] <= limit[axis] && limit[axis] <= c.shape(0)[axis],
              "start and limit must lie inside the operand");
    shape.push_back(limit[axis] - start[axis]);
  }
  return {Type{c.in(0).dtype, shape}};
}

std::vector<Value> vjp(const VjpContext& c) {
  std::vector<int64_t> high;
  for (size_t axis = 0; axis < c.in(0).shape().size(); ++axis) {
    high.push_back(c.in(0).shape()[axis] - c.attrs().get_ints("limit")[axis]);
  }
  return {pad(c.output_grads[0], c.attrs().get_ints("start"), high)};
}

template <class T>
void cut(const KernelContext& c) {
  const Strides strides = row_major_strides(c.in_type(0).shape);
  int64_t first = 0;
  for (size_t axis = 0; axis < c.in_type(0).shape.size(); ++axis) {
    first += strides[axis] * c.attrs().get_ints("start")[axis];
  }
  const T* x = c.in<T>(0) + first;
  T* y = c.out<T>(0);
  for_each_strided(c.out_type(0).shape, strides, [=](int64_t i, int64_t j) { y[i] = x[j]; });
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
  return {{.inputs = {{DType::kF32, {4, 5}}},
           .attrs = {{"start", Shape{1, 0}}, {"limit", Shape{3, 4}}}},
          {.inputs = {{DType::kI32, {4}}},
           .attrs = {{"start", Shape{2}}, {"limit", Shape{2}}},
           .differentiable = false}};
}

void stablehlo(HloContext& c) {
  const std::vector<int64_t>&start = c.attrs().get_ints("start"),
        &limit = c.attrs().get_ints("limit");
  std::string ranges;
  for (size_t axis = 0; axis < start.size(); ++axis) {
    ranges += fmt::format("{}{}:{}", axis == 0 ? "" : ", ", start[axis], limit[axis]);
  }
  c.emit_output(fmt::format("stablehlo.slice {} [{}] : {}", c.in(0), ranges, c.signature()));
}

}  // namespace

const Op op::slice = {.name = "slice",
                      .infer = infer,
                      .vjp = vjp,
                      .cpu = cpu,
                      .stablehlo = stablehlo,
                      .cost = elementwise_cost,
                      .samples = samples};

Value slice(Value x, std::vector<int64_t> start, std::vector<int64_t> limit) {
  return x.graph().call1(op::slice, {x},
                         {{"start", std::move(start)}, {"limit", std::move(limit)}});
}

}  // namespace headwater
