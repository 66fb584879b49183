#include "tokens/line_blocks.h"

#include <algorithm>

namespace headwater {
namespace {

constexpr size_t kMaxLineBytes = size_t{1} << 30;

void split(std::string_view text, std::vector<std::string_view>& lines) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    lines.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace

Result<bool> LineBlocks::next(std::vector<std::string_view>& lines) {
  buffer_.erase(0, consumed_);
  first_line_ += static_cast<int64_t>(lines.size());
  lines.clear();
  size_t end = std::string::npos;  // last line end; what the last block left has none
  while (!ended_ && (buffer_.size() < block_bytes_ || end == std::string::npos)) {
    const size_t before = buffer_.size();
    HW_RETURN_IF_ERROR(fill());
    const size_t found = std::string_view(buffer_).substr(before).rfind('\n');
    if (found != std::string_view::npos) end = before + found;
    if (end == std::string::npos && buffer_.size() > kMaxLineBytes) {
      return fail_hint(Code::kInvalidArgument, "is this a text file?",
                       "{}: line {} is longer than {} bytes", name_, first_line_, kMaxLineBytes);
    }
  }
  consumed_ = ended_ || end == std::string::npos ? buffer_.size() : end + 1;
  split(std::string_view(buffer_).substr(0, consumed_), lines);
  return !lines.empty();
}

Result<> LineBlocks::fill() {
  const size_t before = buffer_.size();
  buffer_.resize(before + block_bytes_);
  HW_ASSIGN_OR_RETURN(const size_t n,
                      source_.read(std::span(reinterpret_cast<uint8_t*>(buffer_.data()) + before,
                                             buffer_.size() - before)));
  buffer_.resize(before + n);
  bytes_ += static_cast<int64_t>(n);
  ended_ = n == 0;
  if (start_.empty()) start_ = buffer_.substr(0, 2);
  return {};
}

}  // namespace headwater
