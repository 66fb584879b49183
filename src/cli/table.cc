#include "cli/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace headwater {
namespace {

// Columns on a terminal; names of other scripts than Latin are counted by code points.
size_t width_of(std::string_view text) {
  return static_cast<size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<uint8_t>(c) & 0xc0) != 0x80; }));
}

}  // namespace

std::string TextTable::text(std::string_view indent) const {
  std::vector<size_t> widths(alignment_.size(), 0);
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size() && i < widths.size(); ++i)
      widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::string out;
  for (const auto& row : rows_) {
    std::string line(indent);
    for (size_t i = 0; i < row.size() && i < widths.size(); ++i) {
      const std::string padding(widths[i] - width_of(row[i]), ' ');
      if (i > 0) line += "  ";
      line += alignment_[i] == 'r' ? padding + row[i] : row[i] + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

std::string grouped(int64_t value) {
  std::string text = fmt::format("{}", value);
  for (auto i = static_cast<int64_t>(text.size()) - 3; i > (value < 0 ? 1 : 0); i -= 3)
    text.insert(static_cast<size_t>(i), ",");
  return text;
}

std::string byte_text(int64_t bytes) {
  static constexpr std::array<const char*, 4> kUnits = {"kB", "MB", "GB", "TB"};
  if (bytes < 1000) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / 1000;
  size_t unit = 0;
  for (; value >= 999.95 && unit + 1 < kUnits.size(); ++unit) value /= 1000;
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

}  // namespace headwater
