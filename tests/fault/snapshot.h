#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace headlight::fault {

struct SnapshotEntry {
  std::filesystem::file_type type = std::filesystem::file_type::regular;
  std::string content = {};  // of a file; where a symlink leads

  bool operator==(const SnapshotEntry&) const = default;
  auto operator<=>(const SnapshotEntry&) const = default;
};

// What a folder holds, by path relative to it.
using Snapshot = std::map<std::string, SnapshotEntry>;

Snapshot take_snapshot(const std::filesystem::path& folder);
// Empties the folder, or makes it, and fills it.
void restore_snapshot(const std::filesystem::path& folder, const Snapshot& snapshot);

// The part below a folder of it, by path relative to that.
Snapshot part_of(const Snapshot& snapshot, const std::string& folder);

// metrics.jsonl without the wall-clock times, which no two runs share.
Snapshot without_times(Snapshot run);

// A line for each entry that differs.
std::vector<std::string> differences(const Snapshot& expected, const Snapshot& actual);

}  // namespace headlight::fault
