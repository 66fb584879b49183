#include <cstring>

#include "ops/elementwise.h"

namespace headwater {
namespace {

std::vector<Type> infer(const InferContext& c) {
  c.require(!c.inputs.empty(), "wants at least one operand");
  const int64_t axis = c.attrs.get_int("axis");
  c.require(axis >= 0 && axis < c.in(0).rank(), "no such axis");
  Type result = c.in(0);
  int64_t extent = 0;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    Type type = c.in(i);
    c.require(type.rank() == result.rank() && type.dtype == result.dtype,
              "operands must have one rank and type");
    extent += type.shape[static_cast<size_t>(axis)];
    type.shape[static_cast<size_t>(axis)] = result.shape[static_cast<size_t>(axis)];
    c.require(type == result, "operands may differ along the axis only");
  }
  result.shape[static_cast<size_t>(axis)] = extent;
  return {result};
}

std::vector<Value> vjp(const VjpContext& c) {
  const auto axis = static_cast<size_t>(c.attrs().get_int("axis"));
  const Value dy = c.output_grads[0];
  std::vector<Value> grads;
  std::vector<int64_t> start(dy.shape().size(), 0), limit = dy.shape();
  for (const Value& part : c.node.inputs) {
    limit[axis] = start[axis] + part.shape()[axis];
    grads.push_back(slice(dy, start, limit));
    start[axis] = limit[axis];
  }
  return grads;
}

void cpu(const KernelContext& c) {
  const auto axis = static_cast<size_t>(c.attrs().get_int("axis"));
  const Shape& shape = c.out_type(0).shape;
  const int64_t element = dtype_size(c.out_type(0).dtype);
  const int64_t outer = element_count(std::span(shape).first(axis));
  const int64_t inner = element_count(std::span(shape).subspan(axis + 1)) * element;
  int64_t offset = 0;
  for (size_t i = 0; i < c.num_inputs(); ++i) {
    const int64_t row = c.in_type(i).shape[axis] * inner;
    for (int64_t o = 0; o < outer && row > 0; ++o) {
      std::memcpy(c.out<uint8_t>(0) + o * shape[axis] * inner + offset, c.in<uint8_t>(i) + o * row,
                  static_cast<size_t>(row));
    }
    offset += row;
  }
}

std::vector<Sample> samples() {
  const Type a{DType::kF32, {2, 3}}, b{DType::kF32, {2, 1}};
  return {{.inputs = {a, b}, .attrs = {{"axis", int64_t{1}}}},
          {.inputs = {a, a, a}, .attrs = {{"axis", int64_t{0}}}}};
}

void stablehlo(HloContext& c) {
  c.emit_output(fmt::format("stablehlo.concatenate {}, dim = {} : {}", fmt::join(c.inputs(), ", "),
                            c.attrs().get_int("axis"), c.signature()));
}

}  // namespace

const Op op::concat = {.name = "concat",
                       .infer = infer,
                       .vjp = vjp,
                       .cpu = cpu,
                       .stablehlo = stablehlo,
                       .cost = elementwise_cost,
                       .samples = samples};

Value concat(const std::vector<Value>& parts, int64_t axis) {
  if (parts.empty()) throw GraphError("concat: wants at least one operand");
  return parts[0].graph().call1(op::concat, parts, {{"axis", axis}});
}

}  // namespace headwater
