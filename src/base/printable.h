#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace headlight {

// Text from outside in a message or a line of output, written by escaped(): it stays one line and
// cannot steer a terminal.

// In single quotes; what is longer than 80 bytes is cut.
std::string in_quotes(std::string_view text);

std::string shown(const std::filesystem::path& path);

}  // namespace headlight
