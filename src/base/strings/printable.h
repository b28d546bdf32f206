#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace headlight {

// Formats of untrusted text in messages and output. escaped() keeps it on one line without effects
// on a terminal.

// Returns `text` in single quotes, cut after 80 bytes.
std::string in_quotes(std::string_view text);

std::string shown(const std::filesystem::path& path);

}  // namespace headlight
