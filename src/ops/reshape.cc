#include "ops/elementwise.h"
#include "ops/views.h"

#include <cstring>

namespace headwater {

void copy_operands(const KernelContext& c) {
  for (size_t i = 0; i < c.num_inputs(); ++i) {
    const auto bytes = static_cast<size_t>(c.out_type(i).byte_size());
    if (bytes > 0) std::memcpy(c.out<uint8_t>(i), c.in<uint8_t>(i), bytes);
  }
}

namespace {

std::vector<Type> infer(const InferContext& c) {
  c.require_count(1);
  const Shape& shape = c.attrs.get_ints("shape");
  c.require_shape(shape);
  c.require(element_count(shape) == c.in(0).size(), "the number of elements must stay the same");
  return {Type{c.in(0).dtype, shape}};
}

std::vector<Value> vjp(const VjpContext& c) {
  return {reshape(c.output_grads[0], c.in(0).shape())};
}

std::vector<Sample> samples() {
  return {{.inputs = {{DType::kF32, {2, 6}}}, .attrs = {{"shape", Shape{3, 4}}}},
          {.inputs = {{DType::kF32, {1, 1}}}, .attrs = {{"shape", Shape{}}}},
          {.inputs = {{DType::kI32, {0, 6}}},
           .attrs = {{"shape", Shape{3, 0}}},
           .differentiable = false}};
}

void stablehlo(HloContext& c) {
  c.emit_output(fmt::format("stablehlo.reshape {} : {}", c.in(0), c.signature()));
}

}  // namespace

const Op op::reshape = {.name = "reshape",
                        .infer = infer,
                        .vjp = vjp,
                        .cpu = copy_operands,
                        .stablehlo = stablehlo,
                        .samples = samples,
                        .is_view = true};

Value reshape(Value x, Shape shape) {
  if (x.shape() == shape) return x;
  return x.graph().call1(op::reshape, {x}, {{"shape", std::move(shape)}});
}

}  // namespace headwater
