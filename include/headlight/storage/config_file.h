#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace headlight {

// One "key = value" of a configuration file.
struct ConfigEntry {
  enum class Type { text, integer, number, boolean, list };

  std::string key;
  std::string value;  // as text: "0.001", "true"
  Type type = Type::text;
  std::vector<std::string> items = {};  // elements of a list
};

// Reads the entries of a flat TOML file, in the order of the file. Throws Error, naming file and
// line, for text that is not TOML, for tables, and for lists of anything but texts. Throws Error
// for a file above 1 MiB.
std::vector<ConfigEntry> read_config_file(const std::filesystem::path& path);

// Parses the text of a configuration file. Error messages call it `name`.
std::vector<ConfigEntry> parse_config(std::string_view text, const std::filesystem::path& name);

}  // namespace headlight
