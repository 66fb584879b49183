// Where the makers of examples put them: records ready to be written, in order, and counts.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "records/build_counts.h"
#include "records/example.h"

namespace headwater {

class ExampleOutput {
 public:
  // Forgets the records, not the counts.
  void clear() { payloads_.clear(), ends_.clear(); }
  // Counts it as an example.
  void add(std::span<const IntFeature> ints, std::span<const FloatFeature> floats = {}) {
    append_example(ints, floats, payloads_);
    ends_.push_back(payloads_.size());
    ++counts.examples;
  }
  template <class Visit>
  Result<> visit(Visit visit_payload) const {
    size_t begin = 0;
    for (const size_t end : ends_) {
      HW_RETURN_IF_ERROR(visit_payload(std::string_view(payloads_).substr(begin, end - begin)));
      begin = end;
    }
    return {};
  }

  BuildCounts counts;

 private:
  std::string payloads_;  // back to back
  std::vector<size_t> ends_;
};

// The three lists of google's builders: input_ids, and beside them input_mask, 1 at a token, and
// segment_ids, 0 up to the end of the first segment and 1 behind it.
struct SegmentLists {
  std::vector<int32_t> input_ids, input_mask, segment_ids;

  // `length` 0: as long as `ids`; else filled up with `pad`, and with 0.
  void assign(std::span<const int32_t> ids, int64_t first_segment, int64_t length, int32_t pad);
};

}  // namespace headwater
