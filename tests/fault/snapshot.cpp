#include "fault/snapshot.h"

#include <fstream>
#include <regex>

#include "support/files.h"

namespace headlight::fault {

namespace fs = std::filesystem;

Snapshot take_snapshot(const fs::path& folder) {
  Snapshot snapshot;
  if (!fs::exists(folder)) {
    return snapshot;
  }
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    const fs::file_type type = entry.symlink_status().type();
    std::string content;
    if (type == fs::file_type::symlink) {
      content = fs::read_symlink(entry.path()).string();
    } else if (type == fs::file_type::regular) {
      content = test::file_contents(entry.path());
    }
    snapshot[entry.path().lexically_relative(folder).string()] = {type, content};
  }
  return snapshot;
}

// Map order puts folders before their contents.
void restore_snapshot(const fs::path& folder, const Snapshot& snapshot) {
  fs::create_directories(folder);
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    fs::remove_all(entry.path());
  }
  for (const auto& [name, entry] : snapshot) {
    if (entry.type == fs::file_type::directory) {
      fs::create_directory(folder / name);
    } else if (entry.type == fs::file_type::symlink) {
      fs::create_symlink(entry.content, folder / name);
    } else {
      std::ofstream(folder / name, std::ios::binary) << entry.content;
    }
  }
}

Snapshot without_times(Snapshot run) {
  static const std::regex times(R"re(,"(seconds|elapsed_seconds|tokens_per_second)":[-+.0-9e]+)re");
  const auto metrics = run.find("metrics.jsonl");
  if (metrics != run.end()) {
    metrics->second.content = std::regex_replace(metrics->second.content, times, "");
  }
  return run;
}

std::vector<std::string> differences(const Snapshot& expected, const Snapshot& actual) {
  std::vector<std::string> found;
  for (const auto& [name, entry] : expected) {
    const auto other = actual.find(name);
    if (other == actual.end()) {
      found.push_back(name + " is missing");
    } else if (!(entry == other->second)) {
      found.push_back(name + " differs");
    }
  }
  for (const auto& [name, entry] : actual) {
    if (expected.count(name) == 0) {
      found.push_back(name + " is too many");
    }
  }
  return found;
}
}  // namespace headlight::fault
