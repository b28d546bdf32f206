#include "kernels/machine/control_groups.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

#include "base/strings/read_number.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

// Adds the folders of the group and its parents. Some may not exist: a container may see its own
// group as the root and still read a longer path.
void add_along(const fs::path& top, const std::string& group, std::vector<fs::path>& folders) {
  folders.push_back(top);
  fs::path path = fs::path("/" + group).lexically_normal().relative_path();
  for (; !path.empty(); path = path.parent_path()) {
    folders.push_back(top / path);
  }
}

// File names of one control group version in a group's folder.
struct MemoryFiles {
  const char* limit;
  const char* usage;
  const char* droppable;  // key in memory.stat: cached files that were not used recently
};

std::optional<double> memory_left_in(const fs::path& folder, const MemoryFiles& files) {
  constexpr std::int64_t kNoLimit = std::int64_t{1} << 60;  // version 1: "no limit"
  const auto limit = parse_count(system_word(folder / files.limit, 0));
  const auto usage = parse_count(system_word(folder / files.usage, 0));
  if (!limit || !usage || *limit >= kNoLimit) {
    return std::nullopt;
  }
  const double droppable = system_number(folder / "memory.stat", files.droppable);
  return std::max(0.0, static_cast<double>(*limit) - static_cast<double>(*usage) + droppable);
}

}  // namespace

std::string read_system_text(const fs::path& path) {
  constexpr std::streamsize kLongest = 65536;
  std::ifstream file(path, std::ios::binary);
  std::string text(static_cast<std::size_t>(kLongest), '\0');
  file.read(text.data(), kLongest);
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

std::string system_word(const fs::path& path, int index) {
  std::istringstream words(read_system_text(path));
  std::string word;
  for (int i = 0; i <= index; ++i) {
    word.clear();
    words >> word;
  }
  return word;
}

std::string system_value(const fs::path& path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t end = std::min(line.find_first_not_of(" \t:", key.size()), line.size());
    if (line.starts_with(key) && end > key.size()) {
      return line.substr(end);
    }
  }
  return {};
}

double system_number(const fs::path& path, std::string_view key) {
  const std::string text = system_value(path, key);
  double number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::optional<std::int64_t> parse_count(std::string_view text) {
  const std::optional<std::int64_t> value = read_number<std::int64_t>(text);
  return value.value_or(-1) >= 0 ? value : std::nullopt;
}

// Lines of proc/self/cgroup are number:controllers:path; version 2 leaves the controllers empty.
std::vector<fs::path> control_group_folders(const fs::path& root, const std::string& controller) {
  const fs::path mounted = root / "sys/fs/cgroup";
  std::vector<fs::path> folders{mounted};
  std::istringstream lines(read_system_text(root / "proc/self/cgroup"));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream parts(line);
    std::string number;
    std::string controllers;
    std::string group;
    std::getline(std::getline(std::getline(parts, number, ':'), controllers, ':'), group);
    if (controllers.empty()) {
      add_along(mounted, group, folders);
      add_along(mounted / "unified", group, folders);
    } else if (("," + controllers + ",").find("," + controller + ",") != std::string::npos) {
      add_along(mounted / controllers, group, folders);
      add_along(mounted / controller, group, folders);
    }
  }
  return folders;
}

std::optional<double> memory_left_in_groups(const fs::path& root) {
  constexpr MemoryFiles kVersions[] = {
      {"memory.max", "memory.current", "inactive_file"},
      {"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"}};
  std::optional<double> least;
  for (const fs::path& folder : control_group_folders(root, "memory")) {
    for (const MemoryFiles& files : kVersions) {
      const std::optional<double> left = memory_left_in(folder, files);
      least = left && (!least || *left < *least) ? left : least;
    }
  }
  return least;
}

}  // namespace headlight
