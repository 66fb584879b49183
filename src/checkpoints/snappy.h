// Decompression of raw snappy blocks, as sorted tables may hold them. TensorFlow itself never
// compresses an index, so sixty lines do instead of a library; there is no compressor.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"

namespace headwater {

// The length that the block declares is believed only as far as its compressed size can reach.
Result<std::vector<uint8_t>> snappy_decompress(std::span<const uint8_t> block);

}  // namespace headwater
