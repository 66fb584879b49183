#include "base/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <utility>

namespace headwater {
namespace {

// The code point at `position`, which moves behind it; a byte that is not UTF-8 is taken alone.
uint32_t next_code_point(std::string_view text, size_t& position) {
  const auto lead = static_cast<unsigned char>(text[position++]);
  const int extra = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : lead >= 0xc0 ? 1 : 0;
  if (lead < 0x80 || extra == 0 || position + static_cast<size_t>(extra) > text.size()) return lead;
  uint32_t code = lead & (0x3fu >> extra);
  for (int i = 0; i < extra; ++i) {
    const auto byte = static_cast<unsigned char>(text[position + static_cast<size_t>(i)]);
    if ((byte & 0xc0) != 0x80) return lead;
    code = (code << 6) | (byte & 0x3f);
  }
  position += static_cast<size_t>(extra);
  return code;
}

using Range = std::pair<uint32_t, uint32_t>;
// Blocks of Unicode's East Asian Width W and F, as wholes.
constexpr std::array kWide = {
    Range{0x1100, 0x115f},   Range{0x2e80, 0x303e},   Range{0x3041, 0x33ff},  Range{0x3400, 0x4dbf},
    Range{0x4e00, 0x9fff},   Range{0xa000, 0xa4cf},   Range{0xa960, 0xa97f},  Range{0xac00, 0xd7a3},
    Range{0xf900, 0xfaff},   Range{0xfe30, 0xfe6f},   Range{0xff00, 0xff60},  Range{0xffe0, 0xffe6},
    Range{0x1f300, 0x1f64f}, Range{0x1f900, 0x1f9ff}, Range{0x20000, 0x3fffd}};
// Combining marks, vowel and final jamo, joiners, variation selectors.
constexpr std::array kZero = {Range{0x0300, 0x036f}, Range{0x1160, 0x11ff}, Range{0x200b, 0x200f},
                              Range{0x20d0, 0x20ff}, Range{0xd7b0, 0xd7ff}, Range{0xfe00, 0xfe0f}};

template <size_t N>
bool within(const std::array<Range, N>& ranges, uint32_t code) {
  for (const auto& [low, high] : ranges) {
    if (code >= low && code <= high) return true;
  }
  return false;
}

int64_t width_of(uint32_t code) {
  if (code < 0x300) return code < 0x20 ? 0 : 1;
  return within(kZero, code) ? 0 : within(kWide, code) ? 2 : 1;
}

}  // namespace

int64_t terminal_columns(int fd) {
  winsize size{};
  return isatty(fd) == 1 && ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

int64_t display_width(std::string_view text) {
  int64_t width = 0;
  for (size_t position = 0; position < text.size();)
    width += width_of(next_code_point(text, position));
  return width;
}

std::string fit_columns(std::string_view text, int64_t columns) {
  if (display_width(text) <= columns) return std::string(text);
  const std::string_view ellipsis =
      std::string_view("...").substr(0, static_cast<size_t>(columns < 0   ? 0
                                                            : columns < 3 ? columns
                                                                          : 3));
  const int64_t room = columns - static_cast<int64_t>(ellipsis.size());
  int64_t width = 0;
  size_t position = 0;
  while (position < text.size()) {
    size_t behind = position;
    width += width_of(next_code_point(text, behind));
    if (width > room) break;
    position = behind;
  }
  return std::string(text.substr(0, position)) + std::string(ellipsis);
}

}  // namespace headwater
