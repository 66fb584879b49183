// The entries of a zip archive, as far as PyTorch writes such: stored, not compressed, so that
// every entry is a piece of the mapped file. Compressed and encrypted entries are refused, and with
// them everything that unpacks to more than it is.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "base/error.h"

namespace headwater {

struct ZipEntry {
  std::span<const uint8_t> bytes;  // of the archive
  uint32_t crc = 0;                // CRC-32 (of zip, not CRC-32C), as the archive says
};
using ZipDirectory = std::map<std::string, ZipEntry, std::less<>>;

// Sizes come from the central directory, zip64 included. Errors name the byte.
Result<ZipDirectory> read_zip_directory(std::span<const uint8_t> archive);

// Whether the bytes are those that the archive was written with.
Result<> check_zip_entry(const ZipEntry& entry);

}  // namespace headwater
