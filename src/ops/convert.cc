#include <limits>

#include "ops/elementwise.h"

namespace headwater {
namespace {

DType target(const Attrs& attrs) {
  for (const DType dtype : {DType::kF32, DType::kI32, DType::kU32}) {
    if (attrs.get_text("dtype") == dtype_name(dtype)) return dtype;
  }
  throw GraphError(fmt::format("no conversion to {}", attrs.get_text("dtype")));
}

std::vector<Type> infer(const InferContext& c) {
  c.require_count(1);
  const DType from = c.in(0).dtype;
  c.require(
      from == DType::kF32 || from == DType::kI32 || from == DType::kU32 || from == DType::kPred,
      "wants f32, i32, u32 or pred");
  return {Type{target(c.attrs), c.shape(0)}};
}

std::vector<Value> vjp(const VjpContext& c) {
  const bool real = c.in(0).dtype() == DType::kF32 && c.outputs[0].dtype() == DType::kF32;
  return {real ? c.output_grads[0] : Value()};
}

// Towards zero; what does not fit gives the nearest bound, NaN gives 0 (a plain cast would be
// undefined).
template <class Out, class In>
Out convert_value(In x) {
  if constexpr (std::is_same_v<In, float> && !std::is_same_v<Out, float>) {
    constexpr auto kLow = static_cast<double>(std::numeric_limits<Out>::min());
    constexpr auto kHigh = static_cast<double>(std::numeric_limits<Out>::max());
    const double wide = x;
    if (!(wide > kLow)) return wide <= kLow ? std::numeric_limits<Out>::min() : 0;
    return wide >= kHigh ? std::numeric_limits<Out>::max() : static_cast<Out>(wide);
  } else {
    return static_cast<Out>(x);
  }
}

void cpu(const KernelContext& c) {
  with_arithmetic_type(c.out_type(0).dtype, [&](auto out) {
    using Out = decltype(out);
    if (c.in_type(0).dtype == DType::kPred) {
      return map_unary<Out, uint8_t>(c, [](uint8_t x) { return static_cast<Out>(x); });
    }
    with_arithmetic_type(c.in_type(0).dtype, [&](auto in) {
      using In = decltype(in);
      map_unary<Out, In>(c, [](In x) { return convert_value<Out, In>(x); });
    });
  });
}

std::vector<Sample> samples() {
  std::vector<Sample> all;
  for (const DType from : {DType::kF32, DType::kI32, DType::kU32, DType::kPred}) {
    for (const char* to : {"f32", "i32", "u32"}) {
      all.push_back({.inputs = {Type{from, {2, 3}}},
                     .attrs = {{"dtype", std::string(to)}},
                     .index_bound = 2,
                     .differentiable = from == DType::kF32 && std::string_view(to) == "f32"});
    }
  }
  return all;
}

void stablehlo(HloContext& c) {
  c.emit_output(fmt::format("stablehlo.convert {} : {}", c.in(0), c.signature()));
}

}  // namespace

const Op op::convert = {.name = "convert",
                        .infer = infer,
                        .vjp = vjp,
                        .cpu = cpu,
                        .stablehlo = stablehlo,
                        .cost = elementwise_cost,
                        .samples = samples};

Value convert(Value x, DType dtype) {
  if (x.dtype() == dtype) return x;
  return x.graph().call1(op::convert, {x}, {{"dtype", std::string(dtype_name(dtype))}});
}

}  // namespace headwater
