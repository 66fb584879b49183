#include "base/threefry.h"

#include <bit>

#include "base/crc32c.h"

namespace headwater {

Key Key::fold_in(std::string_view site) const { return fold_in(crc32c(site)); }

float Key::uniform(uint64_t index) const {
  return std::bit_cast<float>((bits(index) >> 9) | 0x3F800000u) - 1.0f;
}

}  // namespace headwater
