#include "ops/elementwise.h"

#include <algorithm>

namespace headwater {

std::vector<Type> infer_unary_f32(const InferContext& c) {
  c.require_count(1);
  c.require_dtype(0, DType::kF32);
  return {c.in(0)};
}

std::vector<Type> infer_binary_arithmetic(const InferContext& c) {
  c.require_count(2);
  c.require_same_type(0, 1);
  const DType dtype = c.in(0).dtype;
  c.require(dtype == DType::kF32 || dtype == DType::kI32 || dtype == DType::kU32,
            "wants f32, i32 or u32");
  return {c.in(0)};
}

std::vector<Type> infer_binary_bits(const InferContext& c) {
  c.require_count(2);
  c.require_same_type(0, 1);
  c.require(c.in(0).dtype == DType::kU32 || c.in(0).dtype == DType::kPred, "wants u32 or pred");
  return {c.in(0)};
}

std::vector<Type> infer_shift(const InferContext& c) {
  c.require_count(2);
  c.require_same_type(0, 1);
  c.require_dtype(0, DType::kU32);
  return {c.in(0)};
}

std::vector<Sample> unary_samples() {
  return {{.inputs = {{DType::kF32, {3, 5}}}},
          {.inputs = {{DType::kF32, {}}}},
          {.inputs = {{DType::kF32, {0, 4}}}}};
}

std::vector<Sample> positive_samples() {
  return {{.inputs = {{DType::kF32, {3, 5}}}, .low = 0.5, .high = 3}};
}

std::vector<Sample> binary_samples() {
  const Type f{DType::kF32, {4, 3}}, i{DType::kI32, {5}}, u{DType::kU32, {5}};
  return {{.inputs = {f, f}, .low = 0.5, .high = 3},
          {.inputs = {i, i}, .differentiable = false},
          {.inputs = {u, u}, .differentiable = false}};
}

std::vector<Sample> bit_samples() {
  const Type u{DType::kU32, {7}};
  return {{.inputs = {u, u}, .index_bound = 31, .differentiable = false}};
}

Cost elementwise_cost(const Node& node, std::span<const Type* const> input_types) {
  double bytes = static_cast<double>(node.outputs[0].byte_size());
  for (const Type* type : input_types) bytes += static_cast<double>(type->byte_size());
  return {static_cast<double>(node.outputs[0].size()), bytes};
}

void stablehlo_elementwise(HloContext& c, std::string_view operation) {
  c.emit_output(fmt::format("{} {} : {}", operation, fmt::join(c.inputs(), ", "),
                            stablehlo_type(c.out_type(0))));
}

std::string stablehlo_compare(HloContext& c, std::string_view direction, const std::string& a,
                              const std::string& b, const Type& type) {
  const std::string_view order = type.dtype == DType::kF32   ? "FLOAT"
                                 : type.dtype == DType::kI32 ? "SIGNED"
                                                             : "UNSIGNED";
  return c.emit(fmt::format("stablehlo.compare {0}, {1}, {2}, {3} : ({4}, {4}) -> {5}", direction,
                            a, b, order, stablehlo_type(type),
                            stablehlo_type({DType::kPred, type.shape})));
}

std::string stablehlo_select(const std::string& condition, const std::string& if_true,
                             const std::string& if_false, const Type& type) {
  return fmt::format("stablehlo.select {}, {}, {} : {}, {}", condition, if_true, if_false,
                     stablehlo_type({DType::kPred, type.shape}), stablehlo_type(type));
}

std::pair<Value, Value> broadcast_both(Value a, Value b) {
  if (a.shape() == b.shape()) return {a, b};
  const size_t rank = std::max(a.shape().size(), b.shape().size());
  Shape shape(rank);
  const auto extent = [rank](const Shape& s, size_t axis) {
    const size_t missing = rank - s.size();
    return axis < missing ? 1 : s[axis - missing];
  };
  for (size_t axis = 0; axis < rank; ++axis) {
    const int64_t x = extent(a.shape(), axis), y = extent(b.shape(), axis);
    if (x != y && x != 1 && y != 1) return {a, b};  // the operator says that it wants equal ones
    shape[axis] = x == 1 ? y : x;
  }
  return {broadcast_to(a, shape), broadcast_to(b, shape)};
}

}  // namespace headwater
