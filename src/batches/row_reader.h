// A record as one row of a batch: its features by their specs, checked against each other, cut to
// length, and with what it lacks filled in.
//
// Not here: rows side by side (batch_maker.h), which record is next.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "batches/padding.h"
#include "records/example.h"

namespace headwater {

struct RowRules {
  std::vector<FeatureSpec> features;  // kFixed or kVariable
  std::vector<PaddingValue> padding;  // replaces what goes by the name
  int64_t pad_id = 0;
  int64_t max_length = 0;  // of a list; 0: any
  bool truncate = false;   // cut longer lists; false: they are an error
  bool aligned = false;    // all lists are as long as the first
  int64_t vocab_size = 0;  // bound of input_ids; 0: not known
};

// One record; its memory is used again by the next one.
struct Row {
  std::vector<ParsedFeature> features;  // as RowReader::specs()
  std::string payload;                  // what texts point into
  int64_t length = 0;                   // of the first list; without lists 1
  int64_t cut = 0;                      // values of the first list that were cut off
};

class RowReader {
 public:
  static Result<RowReader> create(const RowRules& rules);

  // May be called from several threads. An error names the feature, what was found and what is
  // wanted; the caller adds file and record.
  Result<> read(std::string_view payload, Row& row) const;
  // The same without a row to keep; returns the length.
  Result<int64_t> check(std::string_view payload) const;

  const std::vector<FeatureSpec>& specs() const { return parser_.specs(); }
  const ListFill& fill(size_t feature) const { return fills_[feature]; }
  bool is_list(size_t feature) const {
    return specs()[feature].layout == FeatureSpec::Layout::kVariable;
  }
  bool has_lists() const { return first_list_ >= 0; }

 private:
  RowReader(ExampleParser parser, const RowRules& rules)
      : parser_(std::move(parser)), rules_(rules) {}
  Result<> set_fills();
  Result<> check_lengths(Row& row) const;
  void fill_missing(Row& row) const;
  Result<> check_ids(const Row& row) const;

  ExampleParser parser_;
  RowRules rules_;
  std::vector<ListFill> fills_;  // of every feature
  int first_list_ = -1, ids_ = -1;
  bool has_bytes_ = false;
};

}  // namespace headwater
