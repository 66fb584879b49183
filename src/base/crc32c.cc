#include "base/crc32c.h"

#include <nmmintrin.h>

#include <cstring>

namespace headwater {

// The baseline of the build (x86-64-v2) has the SSE4.2 crc32 instruction; it computes exactly this
// polynomial.
uint32_t crc32c(std::span<const uint8_t> data, uint32_t crc) {
  uint64_t state = ~crc;
  const uint8_t* p = data.data();
  size_t n = data.size();
  for (; n >= 8; n -= 8, p += 8) {
    uint64_t word = 0;
    std::memcpy(&word, p, 8);
    state = _mm_crc32_u64(state, word);
  }
  auto narrow = static_cast<uint32_t>(state);
  for (; n > 0; --n, ++p) narrow = _mm_crc32_u8(narrow, *p);
  return ~narrow;
}

uint32_t crc32c(std::string_view data, uint32_t crc) {
  return crc32c(std::span(reinterpret_cast<const uint8_t*>(data.data()), data.size()), crc);
}

}  // namespace headwater
