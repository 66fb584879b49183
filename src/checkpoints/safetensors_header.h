// The header of a safetensors file: JSON text to checked entries and back. Apart from the file
// reader because it is where hostile input arrives: it is fuzzed on its own, and its parser builds
// entries straight from the token stream, in time and memory linear in the text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoints/safetensors.h"

namespace headwater {

inline constexpr int64_t kMaxSafetensorsHeader = 100'000'000;  // bytes, as the format demands

struct SafetensorsHeader {
  std::vector<TensorEntry> entries;  // by offset
  SafetensorsMetadata metadata;
  int64_t data_size = 0;  // bytes that the entries cover
};

// Parses and checks everything that can be checked without the size of the file.
Result<SafetensorsHeader> parse_safetensors_header(std::string_view text);

// Length prefix, JSON and padding for tensors in the order given.
Result<std::string> format_safetensors_header(const std::vector<TensorPlan>& tensors,
                                              const SafetensorsMetadata& metadata);

// Place of an element type in the order of files: falling rank. -1 for what the format does not
// have.
int safetensors_rank(ElementType type);

}  // namespace headwater
