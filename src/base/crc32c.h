// CRC-32C (Castagnoli, reflected polynomial 0x82f63b78), and the masked form of TFRecord and
// TensorBundle.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace headwater {

// CRC of `data` appended to bytes whose CRC is `crc` (0 for none).
uint32_t crc32c(std::span<const uint8_t> data, uint32_t crc = 0);
uint32_t crc32c(std::string_view data, uint32_t crc = 0);

// Rotated and offset, so that the CRC of data that holds CRCs stays useful (TFRecord,
// docs/formats/tfrecord.md).
inline uint32_t mask_crc(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }
inline uint32_t unmask_crc(uint32_t masked) {
  const uint32_t rotated = masked - 0xa282ead8u;
  return (rotated >> 17) | (rotated << 15);
}

}  // namespace headwater
