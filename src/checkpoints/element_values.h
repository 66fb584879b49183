// Elements of any numeric type as doubles and back, for statistics, comparison and averages. Not
// for training: a graph converts with its own operators.
#pragma once

#include <cstdint>
#include <span>

#include "checkpoints/element_type.h"

namespace headwater {

// Real numbers, whole ones and booleans; not complex numbers, 8-bit floats and texts.
bool has_values(ElementType type);
// Floating point: what an average makes sense for.
bool is_floating(ElementType type);

// `bytes` hold values.size() elements at any alignment. Numbers beyond 2^53 are rounded.
void decode_values(ElementType type, std::span<const uint8_t> bytes, std::span<double> values);
// The way back for floating types: to the nearest, ties to even.
void encode_values(ElementType type, std::span<const double> values, std::span<uint8_t> bytes);

}  // namespace headwater
