// Where the bytes of a rewritten text came from.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace headwater {

struct ByteRange {
  size_t begin = 0, end = 0;
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

// Bytes outside the noted changes moved, but stayed as they were.
class OffsetMap {
 public:
  // The next change, in order: `from` of the original became `to` of the rewritten text.
  void add_change(ByteRange from, ByteRange to) { changes_.push_back({from, to}); }

  // The original bytes that a range of the rewritten text stands for.
  ByteRange original(ByteRange rewritten) const {
    return {map(rewritten.begin, false), map(rewritten.end, true)};
  }

 private:
  struct Change {
    ByteRange from, to;
  };

  // A position inside a change stands for the whole of it: its front for a begin, its back for an
  // end.
  size_t map(size_t position, bool is_end) const {
    const auto next = std::partition_point(changes_.begin(), changes_.end(), [&](const Change& c) {
      return is_end ? c.to.begin < position : c.to.begin <= position;
    });
    if (next == changes_.begin()) return position;
    const Change& last = *(next - 1);
    if (is_end ? position <= last.to.end : position < last.to.end)
      return is_end ? last.from.end : last.from.begin;
    return position - last.to.end + last.from.end;
  }

  std::vector<Change> changes_;
};

}  // namespace headwater
