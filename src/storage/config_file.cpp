#include "headlight/storage/config_file.h"

#include <toml++/toml.h>
#include <algorithm>
#include <sstream>

#include "base/strings/printable.h"
#include "base/strings/read_number.h"
#include "headlight/base/error.h"
#include "storage/input_file.h"

namespace headlight {
namespace {

constexpr Index kLargestFile = Index{1} << 20;  // bytes
constexpr Index kMostDots = 64;                 // in one line

ConfigEntry entry_of(const std::string& key, const toml::node& node, const std::string& where) {
  if (const auto* text = node.as_string()) {
    return {key, text->get(), ConfigEntry::Type::text};
  }
  if (const auto* integer = node.as_integer()) {
    return {key, std::to_string(integer->get()), ConfigEntry::Type::integer};
  }
  if (const auto* number = node.as_floating_point()) {
    return {key, shortest_text(number->get()), ConfigEntry::Type::number};
  }
  if (const auto* boolean = node.as_boolean()) {
    return {key, boolean->get() ? "true" : "false", ConfigEntry::Type::boolean};
  }
  if (const auto* list = node.as_array()) {
    ConfigEntry entry{key, "[", ConfigEntry::Type::list};
    for (const toml::node& item : *list) {
      require(item.is_string(), where, ": ", key, ": expected a list of texts");
      entry.items.push_back(item.as_string()->get());
      entry.value += (entry.items.size() > 1 ? "," : "") + entry.items.back();
    }
    entry.value += "]";
    return entry;
  }
  fail(where, ": ", key, ": expected a text, a number, true or false");
}

// Limits the dots in a line. The library makes a table for every dot of a key and frees tables by
// recursion, but limits only the depth of values. No key spans lines.
void require_shallow(std::string_view text, const std::string& name) {
  std::istringstream lines{std::string(text)};
  Index number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    require(std::count(line.begin(), line.end(), '.') <= kMostDots, name, ": line ", number,
            ": more than ", kMostDots, " dots");
  }
}

}  // namespace

std::vector<ConfigEntry> read_config_file(const std::filesystem::path& path) {
  return parse_config(read_whole_file(path, kLargestFile), path);
}

std::vector<ConfigEntry> parse_config(std::string_view text, const std::filesystem::path& name) {
  require_shallow(text, shown(name));
  struct LineEntry {
    toml::source_index line;
    ConfigEntry entry;
  };
  std::vector<LineEntry> line_entries;
  try {
    const toml::table table = toml::parse(text, name.string());
    for (const auto& [key, node] : table) {
      const toml::source_index line = node.source().begin.line;
      const std::string where = concat_text(shown(name), ": line ", line);
      line_entries.push_back({line, entry_of(std::string(key.str()), node, where)});
    }
  } catch (const toml::parse_error& error) {
    fail(shown(name), ": line ", error.source().begin.line, ": ", error.description());
  }
  std::stable_sort(line_entries.begin(), line_entries.end(),
                   [](const LineEntry& a, const LineEntry& b) { return a.line < b.line; });
  std::vector<ConfigEntry> entries;
  for (LineEntry& item : line_entries) {
    entries.push_back(std::move(item.entry));
  }
  return entries;
}

}  // namespace headlight
