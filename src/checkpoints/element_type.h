// Element types that checkpoints hold: those a graph computes with and those of other programs, so
// that every tensor can be listed, compared by its bytes and passed on. Values are not converted
// here.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/tensor.h"

namespace headwater {

enum class ElementType : uint8_t {
  kF32,
  kF64,
  kF16,
  kBF16,
  kI8,
  kI16,
  kI32,
  kI64,
  kU8,
  kU16,
  kU32,
  kU64,
  kBool,
  kC64,
  kC128,
  kF8E4M3,
  kF8E5M2,
  kF8E8M0,
  kString,
};

std::string_view element_name(ElementType type);     // "f32", "bool", "string", ...
int64_t element_bytes(ElementType type);             // 0 for texts, which differ in length
std::optional<DType> graph_dtype(ElementType type);  // empty: a graph has no such type
ElementType element_type(DType dtype);               // always there
// In the spelling of safetensors, "F32" or "BF16"; empty for what that format does not have.
std::optional<ElementType> element_type(std::string_view safetensors_name);
std::string_view safetensors_name(ElementType type);

}  // namespace headwater
