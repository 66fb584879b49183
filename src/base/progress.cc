#include "base/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "base/terminal.h"

namespace headwater {
namespace {
using Clock = std::chrono::steady_clock;
constexpr double kQuietSeconds = 2, kTerminalInterval = 0.1, kPlainInterval = 10,
                 kWindowSeconds = 30;

// Whether the terminal's last line is a live one; shared by Progress and the log.
std::atomic<bool> g_live_line = false;

std::string quantity(double value) {
  if (value >= 1e9) return fmt::format("{:.2f}G", value / 1e9);
  if (value >= 1e6) return fmt::format("{:.1f}M", value / 1e6);
  if (value >= 1e4) return fmt::format("{:.1f}k", value / 1e3);
  return value == static_cast<double>(static_cast<int64_t>(value)) ? fmt::format("{:.0f}", value)
                                                                   : fmt::format("{:.1f}", value);
}
}  // namespace

ProgressMeter::ProgressMeter(std::string what, int64_t total, std::string unit, double interval)
    : what_(std::move(what)),
      unit_(std::move(unit)),
      total_(total),
      interval_(interval),
      next_(kQuietSeconds),
      window_{{0.0, 0}} {}

bool ProgressMeter::due(double seconds) const { return seconds >= next_; }

std::string ProgressMeter::line(double seconds, int64_t done, std::string_view detail) {
  next_ = seconds + interval_;
  const auto [then, base] = window_.front();
  const double rate = static_cast<double>(done - base) / std::max(1e-6, seconds - then);
  window_.emplace_back(seconds, done);
  while (window_.size() > 2 && window_[1].first <= seconds - kWindowSeconds) window_.pop_front();

  std::string line = what_ + "  ";
  if (total_ > 0) {
    const double share = static_cast<double>(done) / static_cast<double>(total_);
    line += fmt::format("{:3.0f}%  ", std::clamp(100 * share, 0.0, 100.0));
  }
  // Bytes join their prefix: 1.2MB/10.0MB, but 120/1000 steps.
  const std::string_view suffix = unit_ == "B" ? "B" : "";
  line += quantity(static_cast<double>(done));
  if (total_ > 0) line += fmt::format("{}/{}", suffix, quantity(static_cast<double>(total_)));
  line += suffix.empty() ? " " + unit_ : unit_;
  line += fmt::format("  {}{}/s  {}", quantity(std::max(0.0, rate)), suffix,
                      Progress::duration(seconds));
  if (total_ > done && rate > 0)
    line += "  ETA " + Progress::duration(static_cast<double>(total_ - done) / rate);
  if (!detail.empty()) line += fmt::format("  {}", detail);
  return line;
}

bool Progress::is_terminal() {
  const char* term = std::getenv("TERM");
  return isatty(STDERR_FILENO) == 1 && term != nullptr && std::string_view(term) != "dumb";
}

std::string Progress::duration(double seconds) {
  constexpr double kLongest = 1e9;  // 30 years: an ETA that means "never"
  if (!(seconds < kLongest)) return "ages";
  const auto s = static_cast<int64_t>(std::max(0.0, seconds) + 0.5);
  if (s >= 86400) return fmt::format("{}d{:02}h", s / 86400, s % 86400 / 3600);
  if (s >= 3600) return fmt::format("{}h{:02}m", s / 3600, s % 3600 / 60);
  if (s >= 60) return fmt::format("{}m{:02}s", s / 60, s % 60);
  return fmt::format("{}s", s);
}

Progress::Progress(std::string what, int64_t total, std::string unit)
    : start_(Clock::now()),
      live_(is_terminal()),
      meter_(std::move(what), total, std::move(unit), live_ ? kTerminalInterval : kPlainInterval) {}

Progress::~Progress() { finish(); }

void Progress::update(int64_t done, std::string_view detail) {
  const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  if (!meter_.due(seconds)) return;
  const std::string line = meter_.line(seconds, done, detail);
  if (!live_) {
    std::fprintf(stderr, "%s\n", line.c_str());
    return;
  }
  // A line that wraps could not be redrawn; the last column stays free, since filling it wraps too.
  const int64_t columns = terminal_columns(STDERR_FILENO);
  const std::string shown = columns > 1 ? fit_columns(line, columns - 1) : line;
  std::fprintf(stderr, "\r\033[2K%s", shown.c_str());
  std::fflush(stderr);
  g_live_line = true;
}

void Progress::clear() { clear_live_line(); }

void Progress::finish() {
  if (finished_) return;
  finished_ = true;
  clear();
}

void clear_live_line() {
  if (!g_live_line.exchange(false)) return;
  std::fputs("\r\033[2K", stderr);
  std::fflush(stderr);
}

}  // namespace headwater
