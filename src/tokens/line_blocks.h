// A byte stream as blocks of whole lines, in bounded memory: what verbs work on that keep one line
// in, one line out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "io/file.h"

namespace headwater {

class LineBlocks {
 public:
  // `name` is the input's, in messages. `source` and `name` must outlive this.
  LineBlocks(ByteSource& source, const std::string& name, int64_t block_bytes)
      : source_(source), name_(name), block_bytes_(static_cast<size_t>(block_bytes)) {}

  // The lines of the next block, about block_bytes of them, without their ends (LF or CR LF); false
  // at the end. They are views that live until the next call. A line over 1 GiB is an error.
  Result<bool> next(std::vector<std::string_view>& lines);

  int64_t first_line() const { return first_line_; }  // number of lines[0], from 1
  int64_t bytes() const { return bytes_; }            // read so far
  // Offset in the input of a byte of this block.
  int64_t offset_of(const char* byte) const {
    return bytes_ - static_cast<int64_t>(buffer_.size()) + (byte - buffer_.data());
  }
  std::string_view start() const { return start_; }  // first bytes of the input

 private:
  Result<> fill();

  ByteSource& source_;
  const std::string& name_;
  size_t block_bytes_;
  std::string buffer_, start_;
  size_t consumed_ = 0;
  bool ended_ = false;
  int64_t first_line_ = 1, bytes_ = 0;
};

}  // namespace headwater
