// CRC-32C against published vectors (RFC 3720, B.4) and a bitwise reference.
#include "base/crc32c.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

namespace headwater {
namespace {

uint32_t bitwise_crc(const std::vector<uint8_t>& data) {
  uint32_t crc = ~0u;
  for (const uint8_t byte : data) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? 0x82f63b78u : 0);
  }
  return ~crc;
}

TEST(Crc32c, PublishedVectors) {
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  std::string rising(32, '\0');
  for (size_t i = 0; i < rising.size(); ++i) rising[i] = static_cast<char>(i);
  EXPECT_EQ(crc32c(rising), 0x46dd794eu);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(""), 0u);
}

RC_GTEST_PROP(Crc32c, EqualsTheBitwiseForm, (const std::vector<uint8_t>& data)) {
  RC_ASSERT(crc32c(std::span<const uint8_t>(data)) == bitwise_crc(data));
}

RC_GTEST_PROP(Crc32c, GoesOnFromAnyCut, (const std::vector<uint8_t>& data)) {
  const auto cut = static_cast<size_t>(*rc::gen::inRange<size_t>(0, data.size() + 1));
  const std::span<const uint8_t> all(data);
  RC_ASSERT(crc32c(all.subspan(cut), crc32c(all.first(cut))) == crc32c(all));
}

RC_GTEST_PROP(Crc32c, MaskingIsReversible, (uint32_t crc)) {
  RC_ASSERT(unmask_crc(mask_crc(crc)) == crc);
  RC_ASSERT(mask_crc(crc) != crc);
}

}  // namespace
}  // namespace headwater
