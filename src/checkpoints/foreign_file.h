// What a file is that is not what it should be: the mistakes and accidents that people meet, told
// from the first bytes, so that an error can say more than "bad header".
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"

namespace headwater {

struct ForeignFile {
  std::string looks_like, hint;  // empty: no idea
};
ForeignFile recognise_foreign_file(std::string_view first_bytes);

// An error for files that no reader of weights takes: empty ones, Git LFS pointers, web pages.
Result<> refuse_pointer_file(std::span<const uint8_t> file, std::string_view path);

}  // namespace headwater
