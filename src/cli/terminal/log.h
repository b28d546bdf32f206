#pragma once

#include <string>
#include <vector>

// Messages for users go to stderr, results to stdout.
namespace headlight::cli {

// Throws Error for a level that is not trace, debug, info, warn, error or off.
void set_log_level(const std::string& level);

void log_debug(const std::string& message);
void log_info(const std::string& message);
void log_warning(const std::string& message);
void log_warnings(const std::vector<std::string>& messages);
void log_error(const std::string& message);

}  // namespace headlight::cli
