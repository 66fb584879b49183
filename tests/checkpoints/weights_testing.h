// What the tests of weights share: golden files as folders in memory, expected values, and readers
// that look at every byte.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "base/json.h"
#include "byte_streams.h"
#include "checkpoints/weights_source.h"
#include "io/memory_files.h"

namespace headwater {

inline std::string golden_path(const std::string& name) {
  return std::string(HW_TESTS_DIR) + "/golden/" + name;
}

inline Json golden_json(const std::string& name) {
  auto json = parse_json(file_text(golden_path(name)), name);
  EXPECT_TRUE(json) << name;
  return json.value_or(Json::object());
}

// The files under a golden folder whose path begins with `start`, by path below the folder.
inline std::map<std::string, std::string> golden_files(const std::string& folder,
                                                       const std::string& start = "") {
  std::map<std::string, std::string> files;
  const std::filesystem::path root = golden_path(folder);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    const std::string name = entry.path().lexically_relative(root);
    if (entry.is_regular_file() && name.starts_with(start)) files[name] = file_text(entry.path());
  }
  EXPECT_FALSE(files.empty()) << folder << "/" << start;
  return files;
}

inline void put_all(MemoryFileSystem& fs, const std::map<std::string, std::string>& files) {
  for (const auto& [path, content] : files) fs.put(path, content);
}

inline std::string decode_base64(const std::string& text) {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const size_t value = kLetters.find(c);
    if (value == std::string_view::npos) break;
    bits = bits << 6 | static_cast<uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out += static_cast<char>(bits >> count & 0xff);
  }
  return out;
}

inline std::string text_of(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// All tensors: name -> "dtype [shape] bytes". The first error ends it.
using Contents = std::map<std::string, std::string>;
inline Result<Contents> read_contents(FileSystem& fs, const std::string& path) {
  HW_ASSIGN_OR_RETURN(const auto source, open_weights(fs, path));
  Contents contents;
  for (size_t i = 0; i < source->entries().size(); ++i) {
    const WeightEntry& entry = source->entries()[i];
    HW_ASSIGN_OR_RETURN(const WeightBytes bytes, source->read_bytes(i));
    EXPECT_EQ(entry.bytes, static_cast<int64_t>(bytes.bytes().size())) << entry.name;
    contents[entry.name] = fmt::format("{} {} {}", element_name(entry.type),
                                       shape_text(entry.shape), text_of(bytes.bytes()));
  }
  return contents;
}

inline std::string error_text(FileSystem& fs, const std::string& path) {
  const auto contents = read_contents(fs, path);
  return contents ? "no error" : contents.error().to_string();
}

}  // namespace headwater
