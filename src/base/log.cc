#include "base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "base/progress.h"

namespace headwater {
namespace {
spdlog::logger& logger() {
  static const auto instance = [] {
    auto made = spdlog::stderr_color_mt("headwater");
    made->set_pattern("%v");
    return made;
  }();
  return *instance;
}
}  // namespace

void log_line_info(std::string_view line) {
  clear_live_line();
  logger().info("{}", line);
}
void log_line_warning(std::string_view line) {
  clear_live_line();
  logger().warn("warning: {}", line);
}

}  // namespace headwater
