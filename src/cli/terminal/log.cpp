#include "cli/terminal/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "headlight/base/error.h"

namespace headlight::cli {
namespace {

spdlog::logger& logger() {
  static const std::shared_ptr<spdlog::logger> instance = [] {
    auto result = spdlog::stderr_color_st("headlight");
    result->set_pattern("%^%v%$");
    return result;
  }();
  return *instance;
}

}  // namespace

void set_log_level(const std::string& level) {
  for (const char* known : {"trace", "debug", "info", "warn", "error", "off"}) {
    if (level == known) {
      logger().set_level(spdlog::level::from_str(level));
      return;
    }
  }
  fail("--log_level: expected trace, debug, info, warn, error or off, got '", level, "'");
}

void log_info(const std::string& message) { logger().info("{}", message); }
void log_warning(const std::string& message) { logger().warn("warning: {}", message); }
void log_error(const std::string& message) { logger().error("error: {}", message); }

}  // namespace headlight::cli
