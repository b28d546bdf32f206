#pragma once

#include <string>

// Messages for people, on stderr; results go to stdout.
namespace headlight::cli {

// Throws Error for a level that is not trace, debug, info, warn, error or off.
void set_log_level(const std::string& level);

void log_info(const std::string& message);
void log_warning(const std::string& message);
void log_error(const std::string& message);

}  // namespace headlight::cli
