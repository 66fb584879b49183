// Golden JSON files of the train tests.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

namespace headwater {

inline nlohmann::json load_golden(const std::string& name) {
  std::ifstream in(std::string(HW_TESTS_DIR "/golden/") + name);
  EXPECT_TRUE(in.good()) << name;
  return nlohmann::json::parse(in);
}

}  // namespace headwater
