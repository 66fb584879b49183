// What the tests of src/tokens share: the optional fixtures folder and small helpers.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/json.h"
#include "io/file.h"
#include "tokens/tokenizer.h"

namespace headwater {

// $HW_SHARED, or the folder shared beside the repository.
inline std::string shared_path(const std::string& name) {
  const char* given = std::getenv("HW_SHARED");
  const std::filesystem::path root =
      given != nullptr ? std::filesystem::path(given)
                       : std::filesystem::path(HW_TESTS_DIR).parent_path().parent_path() / "shared";
  return (root / name).string();
}

inline std::string must_read(const std::string& path) {
  auto content = read_file(local_files(), path);
  EXPECT_TRUE(content) << content.error().to_string();
  return content ? *content : "";
}

inline std::vector<Json> read_json_lines(const std::string& path) {
  std::vector<Json> rows;
  const std::string content = must_read(path);
  for (size_t i = 0; i < content.size();) {
    const size_t end = std::min(content.find('\n', i), content.size());
    auto row = parse_json(std::string_view(content).substr(i, end - i), path);
    EXPECT_TRUE(row) << row.error().to_string();
    if (row) rows.push_back(*std::move(row));
    i = end + 1;
  }
  return rows;
}

inline Vocabulary must_load(const std::string& path) {
  auto vocabulary = Vocabulary::load(local_files(), path);
  if (!vocabulary) throw std::runtime_error(vocabulary.error().to_string());
  return *std::move(vocabulary);
}

inline Tokenizer must_create(Vocabulary vocabulary, TokenizerOptions options = {}) {
  auto tokenizer = Tokenizer::create(std::move(vocabulary), std::move(options));
  if (!tokenizer) throw std::runtime_error(tokenizer.error().to_string());
  return *std::move(tokenizer);
}

inline std::vector<int32_t> ids_of(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<int32_t> ids;
  tokenizer.append_ids(text, ids);
  return ids;
}

}  // namespace headwater

#define HW_NEEDS_SHARED(name)                                   \
  if (!std::filesystem::exists(::headwater::shared_path(name))) \
  GTEST_SKIP() << "needs " << ::headwater::shared_path(name) << " (set HW_SHARED)"
