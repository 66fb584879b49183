#include "graph/stablehlo_context.h"

#include <bit>

#include <fmt/format.h>

namespace headwater {
namespace {

std::string scalar_text(double value, DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return fmt::format("0x{:08X}", std::bit_cast<uint32_t>(static_cast<float>(value)));
    case DType::kPred: return value != 0 ? "true" : "false";
    default: return fmt::format("{}", static_cast<int64_t>(value));
  }
}

}  // namespace

std::string_view stablehlo_element(DType dtype) {
  switch (dtype) {
    case DType::kF32: return "f32";
    case DType::kI32: return "i32";
    case DType::kU32: return "ui32";
    default: return "i1";  // a graph has no other
  }
}

std::string stablehlo_type(const Shape& shape, std::string_view element) {
  std::string text = "tensor<";
  for (const int64_t extent : shape) text += fmt::format("{}x", extent);
  return fmt::format("{}{}>", text, element);
}

std::string stablehlo_type(const Type& type) {
  return stablehlo_type(type.shape, stablehlo_element(type.dtype));
}

std::string stablehlo_list(std::span<const int64_t> values) {
  return fmt::format("[{}]", fmt::join(values, ", "));
}

std::string HloContext::operand_types() const {
  std::string text;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    text += (i == 0 ? "" : ", ") + stablehlo_type(in_type(i));
  }
  return text;
}

std::string HloContext::signature() const {
  return fmt::format("({}) -> {}", operand_types(), stablehlo_type(out_type(0)));
}

std::string HloContext::emit(std::string_view operation, size_t num_results) {
  const std::string name = fmt::format("%{}_{}", node_.op->name, next_line_++);
  const std::string count = num_results == 1 ? "" : fmt::format(":{}", num_results);
  text_ += fmt::format("    {}{} = {}\n", name, count, operation);
  return name;
}

std::string HloContext::constant(double value, const Type& type) {
  const Type scalar{type.dtype, {}};
  const std::string name = emit(fmt::format(
      "stablehlo.constant dense<{}> : {}", scalar_text(value, type.dtype), stablehlo_type(scalar)));
  if (type.shape.empty()) return name;
  // A dense constant of the whole shape would be kept as its elements by some compilers.
  return emit(fmt::format("stablehlo.broadcast_in_dim {}, dims = [] : ({}) -> {}", name,
                          stablehlo_type(scalar), stablehlo_type(type)));
}

std::string HloContext::reducer(std::string_view operation, DType dtype) {
  const std::string type = stablehlo_type({dtype, {}});
  return fmt::format(
      "({{\n"
      "    ^bb0(%a: {0}, %b: {0}):\n"
      "      %c = {1} %a, %b : {0}\n"
      "      stablehlo.return %c : {0}\n"
      "    }})",
      type, operation);
}

void stablehlo_identity(HloContext& c) { c.set_output(0, c.in(0)); }

}  // namespace headwater
