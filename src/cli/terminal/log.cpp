#include "cli/terminal/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "cli/terminal/terminal.h"
#include "headlight/base/error.h"

namespace headlight::cli {
namespace {

spdlog::logger& logger() {
  static const std::shared_ptr<spdlog::logger> instance = [] {
    auto result = spdlog::stderr_color_mt("headlight", has_colours(Stream::errors)
                                                           ? spdlog::color_mode::automatic
                                                           : spdlog::color_mode::never);
    result->set_pattern("%^%v%$");
    return result;
  }();
  return *instance;
}

// Escapes control characters except line ends. Messages quote names and texts from files.
std::string harmless(std::string_view message) {
  std::string lines;
  while (true) {
    const std::size_t end = message.find('\n');
    lines += escaped(message.substr(0, end));
    if (end == std::string_view::npos) {
      return lines;
    }
    lines += '\n';
    message.remove_prefix(end + 1);
  }
}

}  // namespace

void set_log_level(const std::string& level) { logger().set_level(spdlog::level::from_str(level)); }

void log_debug(const std::string& message) { logger().debug("{}", harmless(message)); }
void log_info(const std::string& message) { logger().info("{}", harmless(message)); }
void log_warning(const std::string& message) { logger().warn("warning: {}", harmless(message)); }
void log_warnings(const std::vector<std::string>& messages) {
  for (const std::string& message : messages) {
    log_warning(message);
  }
}
void log_error(const std::string& message) { logger().error("error: {}", harmless(message)); }

}  // namespace headlight::cli
