#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

// Messages for users go to stderr, results to stdout.
namespace headlight::cli {

inline constexpr std::array<std::string_view, 6> kLogLevels{"trace", "debug", "info",
                                                            "warn",  "error", "off"};

// Sets the lowest level that is shown, one of kLogLevels.
void set_log_level(const std::string& level);

void log_debug(const std::string& message);
void log_info(const std::string& message);
void log_warning(const std::string& message);
void log_warnings(const std::vector<std::string>& messages);
void log_error(const std::string& message);

}  // namespace headlight::cli
