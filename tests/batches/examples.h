// Records of single features for the tests of the general pipeline.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "batches/batch_pipeline.h"
#include "batches/shards.h"

namespace headwater {

using Lists = std::vector<std::vector<int64_t>>;

// One record per list, of feature `key`.
inline void put_lists(MemoryFileSystem& fs, const std::string& path, const Lists& lists,
                      const std::string& key = "input_ids") {
  std::vector<std::string> payloads;
  for (const auto& list : lists) payloads.push_back(serialize_example({{key, list}}));
  fs.put(path, framed(payloads));
}

// Records {first}, {first + 1} .. of `n`.
inline void put_numbers(MemoryFileSystem& fs, const std::string& path, int64_t first,
                        int64_t count) {
  std::vector<std::string> payloads;
  for (int64_t n = first; n < first + count; ++n)
    payloads.push_back(serialize_example({{"n", std::vector<int64_t>{n}}}));
  fs.put(path, framed(payloads));
}

inline std::unique_ptr<BatchPipeline> open_batches(FileSystem& fs,
                                                   const BatchPipelineOptions& options) {
  auto pipeline = BatchPipeline::open(fs, options);
  EXPECT_TRUE(pipeline.has_value()) << pipeline.error().to_string();
  return pipeline ? *std::move(pipeline) : nullptr;
}

inline std::string open_batches_error(FileSystem& fs, const BatchPipelineOptions& options) {
  auto pipeline = BatchPipeline::open(fs, options);
  EXPECT_FALSE(pipeline.has_value());
  return pipeline ? "" : pipeline.error().to_string();
}

// Up to `most` batches, until the end.
inline std::vector<Batch> take_batches(BatchPipeline& pipeline, size_t most = 1000) {
  std::vector<Batch> batches;
  while (batches.size() < most) {
    auto batch = pipeline.next();
    EXPECT_TRUE(batch.has_value()) << batch.error().to_string();
    if (!batch || !*batch) break;
    batches.push_back(std::move(**batch));
  }
  return batches;
}

// Feature `i` of the real rows, row by row.
inline Lists rows_of(const Batch& batch, size_t i = 0) {
  const BatchFeature& feature = batch.features[i];
  const auto width = static_cast<std::ptrdiff_t>(feature.shape.size() > 1 ? feature.shape[1] : 1);
  Lists rows;
  for (std::ptrdiff_t r = 0; r < batch.real_rows; ++r)
    rows.emplace_back(feature.ints.begin() + r * width, feature.ints.begin() + (r + 1) * width);
  return rows;
}

inline std::vector<int64_t> numbers_of(const Batch& batch) {
  std::vector<int64_t> numbers;
  for (const auto& row : rows_of(batch)) numbers.push_back(row[0]);
  return numbers;
}

inline void expect_equal(const Batch& a, const Batch& b) {
  EXPECT_EQ(a.step, b.step);
  EXPECT_EQ(a.real_rows, b.real_rows);
  EXPECT_EQ(a.tokens, b.tokens);
  EXPECT_EQ(a.lengths, b.lengths);
  EXPECT_EQ(a.next, b.next);
  ASSERT_EQ(a.features.size(), b.features.size());
  for (size_t i = 0; i < a.features.size(); ++i) {
    EXPECT_EQ(a.features[i].shape, b.features[i].shape);
    EXPECT_EQ(a.features[i].ints, b.features[i].ints);
    EXPECT_EQ(a.features[i].floats, b.features[i].floats);
    EXPECT_EQ(a.features[i].texts, b.features[i].texts);
  }
}

}  // namespace headwater
