// Lines for the person at the terminal, on standard error (spdlog behind it); a live
// progress line makes room. Never a secret in a log.
#pragma once

#include <fmt/format.h>
#include <string_view>

namespace headwater {

void log_line_info(std::string_view line);
void log_line_warning(std::string_view line);

template <class... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
  log_line_info(fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void log_warning(fmt::format_string<Args...> format, Args&&... args) {
  log_line_warning(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace headwater
