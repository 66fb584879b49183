// Shards for the tests of this folder: records whose second token tells them apart.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "io/memory_files.h"
#include "records/example.h"
#include "records/record_file.h"
#include "tokens/vocabulary.h"

namespace headwater {

inline constexpr SpecialIds kSpecials = {0, 1, 2, 3, 4};

// Record `n` of `length` tokens: [CLS], 100 + n, some ordinary tokens, [SEP], padding.
inline std::string make_record(int32_t n, int64_t length, int64_t padding = 2) {
  const auto size = static_cast<size_t>(length), real = size - static_cast<size_t>(padding);
  std::vector<int32_t> ids(size, 0), mask(size, 0), segments(size, 0);
  for (size_t t = 0; t < real; ++t) {
    ids[t] = static_cast<int32_t>(10 + (static_cast<size_t>(n) + t) % 80);
    mask[t] = 1;
  }
  ids[0] = kSpecials.cls, ids[1] = 100 + n, ids[real - 1] = kSpecials.sep;
  const std::vector<IntFeature> features = {
      {"input_ids", ids}, {"input_mask", mask}, {"segment_ids", segments}};
  std::string payload;
  append_example(features, payload);
  return payload;
}

inline std::string framed(const std::vector<std::string>& payloads) {
  MemoryFileSystem fs;
  auto sink = *fs.open_write("x");
  RecordWriter writer(*sink);
  for (const auto& payload : payloads) EXPECT_TRUE(writer.write(payload).has_value());
  EXPECT_TRUE(sink->close().has_value());
  return fs.files().at("x");
}

// `records` records over `shards` shards "r/data-<i>", in turn, as the builder deals them out.
inline void put_shards(MemoryFileSystem& fs, int32_t records, int32_t shards, int64_t length) {
  std::vector<std::vector<std::string>> dealt(static_cast<size_t>(shards));
  for (int32_t n = 0; n < records; ++n)
    dealt[static_cast<size_t>(n % shards)].push_back(make_record(n, length));
  for (int32_t i = 0; i < shards; ++i)
    fs.put(fmt::format("r/data-{:03}", i), framed(dealt[static_cast<size_t>(i)]));
}

}  // namespace headwater
