// Filling up the lists of a batch: to which width, and with what.
//
// On devices that compile a program per shape the widths must be few: buckets bound their number
// before the start. With what a list is filled up goes by its name, in Hugging Face's words: the
// pad id for ids, 0 for masks, -100 (ignored by losses) for labels.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace headwater {

struct PadTo {
  enum class Rule {
    kLongest,   // of the batch, as tf.data's padded_batch
    kMultiple,  // the next multiple of `multiple`
    kBuckets    // the first of `buckets` that holds the longest
  };
  Rule rule = Rule::kLongest;
  int64_t multiple = 1;
  std::vector<int64_t> buckets;  // rising

  // The width of lists of which the longest has `longest` values; at least 1.
  Result<int64_t> width(int64_t longest) const;
  int64_t limit() const;   // the longest list that has a width
  int64_t widths() const;  // how many there are; 0: not bounded
};

// "longest", "multiple:64", "128" (always this width) or "64,128,512".
Result<PadTo> parse_pad_to(std::string_view text);
std::string pad_to_text(const PadTo& pad_to);

// What a list of some name is filled up with.
struct ListFill {
  // What stands for the whole list in a record that lacks it. Then it is as long as the record's
  // first list.
  enum class Missing { kValue, kPositions };  // all `missing`; or 0, 1, 2 ..
  double padding = 0;                         // behind the last value
  Missing missing_as = Missing::kValue;
  double missing = 0;
  bool aligned = false;  // says something of every token: as long as the record's first list
};

// input_ids and other *_ids of tokens: pad_id. attention_mask, input_mask: 0, and 1 where missing.
// token_type_ids, segment_ids: 0. position_ids: 0, and 0, 1, 2 .. where missing. labels, label,
// *_labels, *_label: -100. Anything else: 0.
ListFill list_fill(std::string_view name, int64_t pad_id);

struct PaddingValue {
  std::string feature;
  double value = 0;
};
// "labels=-1, weights=0.5": values that replace those of list_fill.
Result<std::vector<PaddingValue>> parse_padding_values(std::string_view text);

}  // namespace headwater
