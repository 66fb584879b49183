// Golden files of the records tests.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <fstream>
#include <sstream>
#include <string>

#include "base/json.h"

namespace headwater {

inline std::string golden_path(const std::string& name) {
  return std::string(HW_TESTS_DIR) + "/golden/tfrecord/" + name;
}

inline std::string golden_bytes(const std::string& name) {
  std::ifstream file(golden_path(name), std::ios::binary);
  EXPECT_TRUE(file) << name;
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

inline Json golden_json(const std::string& name) { return Json::parse(golden_bytes(name)); }

inline std::string decode_base64(std::string_view text) {
  std::string bytes;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    if (c == '=') break;
    const uint32_t digit = c >= 'A' && c <= 'Z'   ? static_cast<uint32_t>(c - 'A')
                           : c >= 'a' && c <= 'z' ? static_cast<uint32_t>(c - 'a' + 26)
                           : c >= '0' && c <= '9' ? static_cast<uint32_t>(c - '0' + 52)
                           : c == '+'             ? 62
                                                  : 63;
    bits = bits << 6 | digit;
    if ((count += 6) < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count);
  }
  return bytes;
}

}  // namespace headwater
