#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace headlight::fault {

struct SnapshotEntry {
  std::filesystem::file_type type = std::filesystem::file_type::regular;
  std::string content = {};  // content of a file, target of a symlink

  bool operator==(const SnapshotEntry&) const = default;
  auto operator<=>(const SnapshotEntry&) const = default;
};

// Contents of a folder, by relative path.
using Snapshot = std::map<std::string, SnapshotEntry>;

Snapshot take_snapshot(const std::filesystem::path& folder);
// Replaces the contents of the folder. Creates it if needed.
void restore_snapshot(const std::filesystem::path& folder, const Snapshot& snapshot);

// Removes the times from metrics.jsonl: equal runs differ in them.
Snapshot without_times(Snapshot run);

// One line for each entry that differs.
std::vector<std::string> differences(const Snapshot& expected, const Snapshot& actual);
}  // namespace headlight::fault
