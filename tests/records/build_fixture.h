// Builds in memory, for the tests of every task: a corpus of three small files, the WordPiece
// vocabulary of the golden runs, a small byte-level BPE tokenizer.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/threads.h"
#include "io/memory_files.h"
#include "records/example.h"
#include "records/record_file.h"
#include "records/records_build.h"

namespace headwater {

inline std::string test_golden(const std::string& name) {
  return *read_file(local_files(), HW_TESTS_DIR "/golden/" + name);
}
inline std::string golden(const std::string& name) { return test_golden("builder/" + name); }

inline std::vector<std::string> payloads_of(FileSystem& fs, const std::string& path) {
  auto reader = RecordReader::open(fs, path);
  EXPECT_TRUE(reader.has_value()) << reader.error().to_string();
  std::vector<std::string> payloads;
  for (std::string payload; *reader->next(payload);) payloads.push_back(payload);
  return payloads;
}

inline std::vector<int64_t> feature(const std::string& payload, const std::string& key) {
  auto example = parse_example(payload);
  EXPECT_TRUE(example.has_value());
  const auto* values = find_ints(*example, key);
  EXPECT_NE(values, nullptr) << key;
  return values == nullptr ? std::vector<int64_t>() : *values;
}

class BuildTest : public testing::Test {
 protected:
  void SetUp() override {
    set_num_threads(1);
    fs_.put("vocab.txt", golden("vocab.txt"));
    fs_.put("bpe/tokenizer.json", test_golden("bpe/tokenizer.json"));
    for (const char* name : {"part_00.txt", "part_01.txt", "part_02.txt"})
      fs_.put(std::string("corpus/") + name, golden(std::string("corpus/") + name));
    options_.corpus_dir = "corpus";
    options_.vocab_file = "vocab.txt";
    options_.output_dir = "out";
    options_.max_seq_length = 32;
    options_.num_out_files = 2;
  }
  void TearDown() override { set_num_threads(0); }

  Result<RecordsBuildSummary> build() { return build_records(fs_, options_); }
  RecordsBuildSummary must_build() {
    auto summary = build();
    EXPECT_TRUE(summary.has_value()) << summary.error().to_string();
    return summary.value_or(RecordsBuildSummary{});
  }
  std::string error() {
    auto summary = build();
    EXPECT_FALSE(summary.has_value());
    return summary ? "" : summary.error().to_string();
  }
  void use_corpus(const std::string& text, const std::string& name = "a.txt") {
    fs_.put("one/" + name, text);
    options_.corpus_dir = "one";
  }
  // More files than lanes, one of several blocks.
  void use_many_files() {
    for (int i = 0; i < 20; ++i) {
      std::string text;
      for (int j = 0; j < (i == 7 ? 900 : 3 * i); ++j) text += golden("corpus/part_00.txt");
      fs_.put(fmt::format("many/{:02}.txt", i), text);
    }
    options_.corpus_dir = "many";
  }
  static bool warns(const RecordsBuildSummary& summary, std::string_view text) {
    for (const std::string& warning : summary.warnings)
      if (warning.find(text) != std::string::npos) return true;
    return false;
  }
  // Files under a folder, by name.
  std::map<std::string, std::string> files_in(const std::string& folder) const {
    std::map<std::string, std::string> found;
    for (const auto& [path, content] : fs_.files())
      if (path.starts_with(folder + "/")) found[path.substr(folder.size() + 1)] = content;
    return found;
  }
  // The records of a build, in the order in which they were made.
  std::vector<std::string> records(const RecordsBuildSummary& summary) {
    std::vector<std::vector<std::string>> shards;
    for (const ShardInfo& shard : summary.shards)
      shards.push_back(payloads_of(fs_, join_path(options_.output_dir, shard.name)));
    std::vector<std::string> all;
    for (int64_t n = 0; n < summary.counts.examples; ++n) {
      const auto shard = static_cast<size_t>(n) % shards.size();
      all.push_back(shards[shard].at(static_cast<size_t>(n) / shards.size()));
    }
    return all;
  }
  std::vector<std::vector<int64_t>> input_ids(const RecordsBuildSummary& summary) {
    std::vector<std::vector<int64_t>> lists;
    for (const std::string& record : records(summary))
      lists.push_back(feature(record, "input_ids"));
    return lists;
  }
  AnyTokenizer open_tokenizer(const TokenizerOptions& rules = {}) {
    return *AnyTokenizer::open(fs_, options_.vocab_file, rules);
  }
  std::vector<int64_t> ids_of(std::string_view text, const TokenizerOptions& rules = {}) {
    std::vector<int32_t> ids;
    open_tokenizer(rules).append_ids(text, ids);
    return {ids.begin(), ids.end()};
  }
  // The same files from any number of threads, others from another seed.
  void expect_same_on_all_threads(bool seed_matters) {
    std::map<std::string, std::string> first;
    options_.overwrite = true;
    for (const int threads : {1, 2, 5}) {
      set_num_threads(threads);
      must_build();
      if (first.empty()) first = files_in("out");
      EXPECT_TRUE(files_in("out") == first) << threads;
    }
    options_.seed = 1;
    must_build();
    const auto other = files_in("out");
    EXPECT_TRUE(other != first);
    const auto shard = first.begin()->first == "manifest.json" ? std::next(first.begin())->first
                                                               : first.begin()->first;
    EXPECT_EQ(other.at(shard) != first.at(shard), seed_matters);
  }

  MemoryFileSystem fs_;
  RecordsBuildOptions options_;
};

}  // namespace headwater
