// Counts over files of tf.train.Examples: records, features, and, where there are input_ids,
// tokens, fill rate, [UNK] and lengths.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "records/example.h"
#include "records/record_file.h"
#include "records/record_files.h"
#include "tokens/any_tokenizer.h"

namespace headwater {

struct FeatureStats {
  int64_t examples = 0;                            // that have it
  int64_t shortest = 0, longest = 0;               // values
  std::vector<bool> types = std::vector<bool>(4);  // by FeatureType
};

struct LengthStats {
  int64_t examples = 0;
  std::string first;  // where the first of them stands
};

// Sums over any number of records.
struct RecordStats {
  int64_t files = 0, empty_files = 0, bytes = 0;
  int64_t records = 0, not_examples = 0;
  int64_t damages = 0;  // skipped
  std::map<std::string, FeatureStats> features;

  // Examples with input_ids. A token is a position that input_mask or attention_mask marks (without
  // a mask: all but the zeros at the end, or all).
  int64_t examples = 0, positions = 0, tokens = 0, two_segments = 0;
  std::map<int64_t, LengthStats> sequence_lengths;  // values of input_ids, padding included
  std::map<int64_t, int64_t> token_counts;          // examples by number of tokens
  // With a tokenizer: ordinary tokens are those besides [PAD], [CLS] and [SEP].
  int64_t ordinary = 0, unknown = 0, outside_vocabulary = 0, largest_id = -1;

  double fill_rate() const;
  double unknown_rate() const;
  void add(const RecordStats& other);
};

struct StatsOptions {
  RecordReaderOptions reader = {};
  const AnyTokenizer* tokenizer = nullptr;  // of the records
  bool zeros_are_padding = true;            // at the end of lists without a mask
};

struct TokenHistogram {
  struct Bin {
    int64_t low, high, examples;  // tokens of [low, high]
  };
  std::vector<Bin> bins;
};
TokenHistogram histogram(const std::map<int64_t, int64_t>& token_counts, int64_t bins);

// The error of the first file that fails. Damaged records follow options.reader.policy.
Result<RecordStats> gather_stats(FileSystem& fs, const std::vector<FileInfo>& files,
                                 const StatsOptions& options = {});

Json to_json(const RecordStats& stats, bool with_vocabulary);

}  // namespace headwater
