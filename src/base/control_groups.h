#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headlight {

// The folders that say what Linux' control groups grant this process of `controller` ("cpu",
// "memory"): its own group and those around it, of version 1 and 2. Some may not exist. `root` is
// "/", or a folder that stands for it in tests.
std::vector<std::filesystem::path> control_group_folders(const std::filesystem::path& root,
                                                         const std::string& controller);

// What stands at the start of a file; these files are short. Empty when it cannot be read.
std::string read_system_text(const std::filesystem::path& path);

// The word at a place of a file; empty when there is none.
std::string system_word(const std::filesystem::path& path, int place);

// The rest of the first line "key: ..." of a file; empty when there is none.
std::string system_value(const std::filesystem::path& path, std::string_view key);

// A whole number that is not negative and all of `text`.
std::optional<std::int64_t> parse_count(std::string_view text);

// Bytes that the control groups still let this process take; files that they can drop from memory
// count as free. Nothing when there is no limit.
std::optional<double> memory_left_in_groups(const std::filesystem::path& root);

}  // namespace headlight
