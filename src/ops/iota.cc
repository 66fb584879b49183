#include "ops/elementwise.h"
#include "ops/strides.h"

namespace headwater {
namespace {

std::vector<Type> infer(const InferContext& c) {
  c.require_count(0);
  const Shape& shape = c.attrs.get_ints("shape");
  const int64_t axis = c.attrs.get_int("axis");
  c.require_shape(shape);
  c.require(axis >= 0 && axis < static_cast<int64_t>(shape.size()), "no such axis");
  const std::string& dtype = c.attrs.get_text("dtype");
  c.require(dtype == "i32" || dtype == "u32", "counts in i32 or u32");
  return {Type{dtype == "i32" ? DType::kI32 : DType::kU32, shape}};
}

void cpu(const KernelContext& c) {
  Strides strides{};
  strides[static_cast<size_t>(c.attrs().get_int("axis"))] = 1;
  auto* y = c.out<int32_t>(0);
  for_each_strided(c.out_type(0).shape, strides,
                   [=](int64_t flat, int64_t i) { y[flat] = static_cast<int32_t>(i); });
}

std::vector<Sample> samples() {
  return {{.inputs = {},
           .attrs = {{"dtype", std::string("i32")}, {"shape", Shape{3, 4}}, {"axis", int64_t{0}}}},
          {.inputs = {},
           .attrs = {{"dtype", std::string("u32")}, {"shape", Shape{3, 4}}, {"axis", int64_t{1}}}}};
}

void stablehlo(HloContext& c) {
  c.emit_output(fmt::format("stablehlo.iota dim = {} : {}", c.attrs().get_int("axis"),
                            stablehlo_type(c.out_type(0))));
}

}  // namespace

const Op op::iota = {
    .name = "iota", .infer = infer, .cpu = cpu, .stablehlo = stablehlo, .samples = samples};

Value iota(Graph& graph, DType dtype, Shape shape, int64_t axis) {
  return graph.call1(
      op::iota, {},
      {{"dtype", std::string(dtype_name(dtype))}, {"shape", std::move(shape)}, {"axis", axis}});
}

}  // namespace headwater
