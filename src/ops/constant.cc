// One value in every element; an executor evaluates it once, when the graph is compiled.
#include "ops/elementwise.h"

namespace headwater {
namespace {

DType dtype_of(const Attrs& attrs) {
  for (const DType dtype : {DType::kF32, DType::kI32, DType::kU32, DType::kPred}) {
    if (attrs.get_text("dtype") == dtype_name(dtype)) return dtype;
  }
  throw GraphError(fmt::format("unknown type {}", attrs.get_text("dtype")));
}

// Whether the value is one of the type; f32 rounds.
bool is_representable(double value, DType dtype) {
  switch (dtype) {
    case DType::kF32: return true;
    case DType::kI32: return value == std::floor(value) && std::fabs(value + 0.5) < 0x1p31;
    case DType::kU32: return value == std::floor(value) && value >= 0 && value < 0x1p32;
    default: return value == 0 || value == 1;
  }
}

std::vector<Type> infer(const InferContext& c) {
  c.require_count(0);
  const Type type{dtype_of(c.attrs), c.attrs.get_ints("shape")};
  c.require_shape(type.shape);
  const double value = c.attrs.get_double("value");
  c.require(is_representable(value, type.dtype),
            fmt::format("{} is no {}", value, dtype_name(type.dtype)));
  return {type};
}

void cpu(const KernelContext& c) {
  const double value = c.attrs().get_double("value");
  const int64_t size = c.out_type(0).size();
  switch (c.out_type(0).dtype) {
    case DType::kF32: std::fill_n(c.out<float>(0), size, static_cast<float>(value)); break;
    case DType::kI32: std::fill_n(c.out<int32_t>(0), size, static_cast<int32_t>(value)); break;
    case DType::kU32: std::fill_n(c.out<uint32_t>(0), size, static_cast<uint32_t>(value)); break;
    default: std::fill_n(c.out<uint8_t>(0), size, static_cast<uint8_t>(value != 0)); break;
  }
}

std::vector<Sample> samples() {
  return {{.inputs = {},
           .attrs = {{"dtype", std::string("f32")}, {"shape", Shape{2, 2}}, {"value", 0.5}}},
          {.inputs = {},
           .attrs = {{"dtype", std::string("u32")}, {"shape", Shape{}}, {"value", 4294967295.0}}}};
}

void stablehlo(HloContext& c) {
  c.set_output(0, c.constant(c.attrs().get_double("value"), c.out_type(0)));
}

}  // namespace

const Op op::constant = {
    .name = "constant", .infer = infer, .cpu = cpu, .stablehlo = stablehlo, .samples = samples};

Value constant(Graph& graph, double value, DType dtype, Shape shape) {
  return graph.call1(
      op::constant, {},
      {{"dtype", std::string(dtype_name(dtype))}, {"shape", std::move(shape)}, {"value", value}});
}

Value constant_like(Value x, double value) {
  return constant(x.graph(), value, x.dtype(), x.shape());
}

}  // namespace headwater
