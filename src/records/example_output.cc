#include "records/example_output.h"

namespace headwater {

void SegmentLists::assign(std::span<const int32_t> ids, int64_t first_segment, int64_t length,
                          int32_t pad) {
  const size_t used = ids.size(), size = length == 0 ? used : static_cast<size_t>(length);
  input_ids.assign(ids.begin(), ids.end());
  input_ids.resize(size, pad);
  input_mask.assign(used, 1);
  input_mask.resize(size, 0);
  segment_ids.assign(static_cast<size_t>(first_segment), 0);
  segment_ids.resize(used, 1);
  segment_ids.resize(size, 0);
}

}  // namespace headwater
