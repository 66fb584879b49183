#include "checkpoints/element_type.h"

#include <algorithm>
#include <array>

namespace headwater {
namespace {

struct Row {
  ElementType type;
  std::string_view name, safetensors_name;
  int64_t bytes;
  std::optional<DType> dtype;
};
using enum ElementType;
constexpr std::array<Row, 19> kRows = {{
    {kF32, "f32", "F32", 4, DType::kF32},
    {kF64, "f64", "F64", 8, DType::kF64},
    {kF16, "f16", "F16", 2, DType::kF16},
    {kBF16, "bf16", "BF16", 2, DType::kBF16},
    {kI8, "i8", "I8", 1, std::nullopt},
    {kI16, "i16", "I16", 2, std::nullopt},
    {kI32, "i32", "I32", 4, DType::kI32},
    {kI64, "i64", "I64", 8, DType::kI64},
    {kU8, "u8", "U8", 1, DType::kU8},
    {kU16, "u16", "U16", 2, std::nullopt},
    {kU32, "u32", "U32", 4, DType::kU32},
    {kU64, "u64", "U64", 8, std::nullopt},
    {kBool, "bool", "BOOL", 1, DType::kPred},
    {kC64, "c64", "C64", 8, std::nullopt},
    {kC128, "c128", "", 16, std::nullopt},
    {kF8E4M3, "f8_e4m3", "F8_E4M3", 1, std::nullopt},
    {kF8E5M2, "f8_e5m2", "F8_E5M2", 1, std::nullopt},
    {kF8E8M0, "f8_e8m0", "F8_E8M0", 1, std::nullopt},
    {kString, "string", "", 0, std::nullopt},
}};

constexpr const Row& row(ElementType type) { return kRows[static_cast<size_t>(type)]; }

constexpr bool in_order() {
  for (size_t i = 0; i < kRows.size(); ++i)
    if (kRows[i].type != static_cast<ElementType>(i)) return false;
  return true;
}
static_assert(in_order(), "the rows stand in the order of the enumeration");

}  // namespace

std::string_view element_name(ElementType type) { return row(type).name; }
int64_t element_bytes(ElementType type) { return row(type).bytes; }
std::optional<DType> graph_dtype(ElementType type) { return row(type).dtype; }

ElementType element_type(DType dtype) {
  const auto found =
      std::find_if(kRows.begin(), kRows.end(), [&](const Row& r) { return r.dtype == dtype; });
  return found->type;
}

std::string_view safetensors_name(ElementType type) { return row(type).safetensors_name; }

std::optional<ElementType> element_type(std::string_view name) {
  if (name.empty()) return std::nullopt;
  const auto found = std::find_if(kRows.begin(), kRows.end(),
                                  [&](const Row& r) { return r.safetensors_name == name; });
  return found == kRows.end() ? std::nullopt : std::optional(found->type);
}

}  // namespace headwater
