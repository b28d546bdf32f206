#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headlight {

// Returns the folders of this process's control group and its parents for `controller` ("cpu",
// "memory"), versions 1 and 2. Some may not exist. `root` is "/", or a folder in tests.
std::vector<std::filesystem::path> control_group_folders(const std::filesystem::path& root,
                                                         const std::string& controller);

// Returns the start of a file, up to 64 KiB; empty if it cannot be read.
std::string read_system_text(const std::filesystem::path& path);

// Returns word number `index`, from 0, of read_system_text(path); empty if there is none.
std::string system_word(const std::filesystem::path& path, int index);

// Returns the value in the first line "key: value" or "key value" of a file; empty if there is
// none.
std::string system_value(const std::filesystem::path& path, std::string_view key);
// Returns the number at the start of that value, else 0.
double system_number(const std::filesystem::path& path, std::string_view key);

// Parses a non-negative integer that is all of `text`.
std::optional<std::int64_t> parse_count(std::string_view text);

// Returns the bytes that the control groups still grant this process, including cached files that
// they can drop. None if there is no limit.
std::optional<double> memory_left_in_groups(const std::filesystem::path& root);

}  // namespace headlight
