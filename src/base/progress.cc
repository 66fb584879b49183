#include "base/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace headwater {
namespace {
using Clock = std::chrono::steady_clock;
constexpr double kQuietSeconds = 2, kTerminalInterval = 0.1, kPlainInterval = 10,
                 kWindowSeconds = 30;

double seconds_between(Clock::time_point a, Clock::time_point b) {
  return std::chrono::duration<double>(b - a).count();
}

std::string quantity(double value) {
  if (value >= 1e9) return fmt::format("{:.2f}G", value / 1e9);
  if (value >= 1e6) return fmt::format("{:.1f}M", value / 1e6);
  if (value >= 1e4) return fmt::format("{:.1f}k", value / 1e3);
  return value == static_cast<double>(static_cast<int64_t>(value)) ? fmt::format("{:.0f}", value)
                                                                   : fmt::format("{:.1f}", value);
}
}  // namespace

bool Progress::is_terminal() {
  const char* term = std::getenv("TERM");
  return isatty(STDERR_FILENO) == 1 && term != nullptr && std::string_view(term) != "dumb";
}

std::string Progress::duration(double seconds) {
  const auto s = static_cast<int64_t>(seconds + 0.5);
  if (s >= 86400) return fmt::format("{}d{:02}h", s / 86400, s % 86400 / 3600);
  if (s >= 3600) return fmt::format("{}h{:02}m", s / 3600, s % 3600 / 60);
  if (s >= 60) return fmt::format("{}m{:02}s", s / 60, s % 60);
  return fmt::format("{}s", s);
}

Progress::Progress(std::string what, int64_t total, std::string unit)
    : what_(std::move(what)),
      unit_(std::move(unit)),
      total_(total),
      start_(Clock::now()),
      last_draw_(start_),
      live_(is_terminal()) {}

Progress::~Progress() { finish(); }

void Progress::update(int64_t done, std::string_view detail) {
  done_ = done;
  const auto now = Clock::now();
  const double since_start = seconds_between(start_, now);
  if (since_start < kQuietSeconds) return;
  if (drawn_ && seconds_between(last_draw_, now) < (live_ ? kTerminalInterval : kPlainInterval))
    return;
  last_draw_ = now;
  window_.emplace_back(since_start, done);
  while (window_.size() > 2 && window_.front().first < since_start - kWindowSeconds)
    window_.pop_front();
  draw(detail, false);
}

void Progress::draw(std::string_view detail, bool last) {
  const double now = seconds_between(start_, Clock::now());
  const auto [then, base] =
      window_.size() > 1 ? window_.front() : std::pair<double, int64_t>{0.0, 0};
  const double rate = static_cast<double>(done_ - base) / std::max(1e-6, now - then);
  std::string line = what_ + "  ";
  if (total_ > 0)
    line +=
        fmt::format("{:3.0f}%  ", 100.0 * static_cast<double>(done_) / static_cast<double>(total_));
  line += quantity(static_cast<double>(done_));
  if (total_ > 0) line += "/" + quantity(static_cast<double>(total_));
  line += fmt::format(" {}  {}/s  {}", unit_, quantity(rate), duration(now));
  if (total_ > 0 && rate > 0 && !last)
    line += "  ETA " + duration(static_cast<double>(total_ - done_) / rate);
  if (!detail.empty()) line += fmt::format("  {}", detail);
  if (live_ && !last) std::fprintf(stderr, "\r\033[2K%s", line.c_str());
  else std::fprintf(stderr, "%s%s\n", live_ ? "\r\033[2K" : "", line.c_str());
  std::fflush(stderr);
  drawn_ = true;
}

void Progress::clear() {
  if (live_ && drawn_) std::fprintf(stderr, "\r\033[2K"), std::fflush(stderr);
}

void Progress::finish() {
  if (finished_) return;
  finished_ = true;
  clear();
}

}  // namespace headwater
