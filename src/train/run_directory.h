#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "headlight/files/directory_lock.h"

namespace headlight {

// The directory of a run in progress, which is made when needed and locked.
class RunDirectory {
 public:
  // Throws LockedError when another process trains there, SaveError when the directory cannot be
  // made or written.
  explicit RunDirectory(std::filesystem::path path);
  // Leaves a directory that was never used as it was found, also if that means none.
  ~RunDirectory();
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;

  // Throws Error when a new run would replace files that no run has left there.
  void require_no_foreign_files() const;
  // Removes what runs that were killed have left half written; returns what that was.
  std::vector<std::filesystem::path> sweep() const;
  // From now on the directory stays.
  void use() { is_used_ = true; }

 private:
  std::filesystem::path path_;
  bool was_made_ = false;
  bool had_lock_ = false;  // a run has been here before
  bool is_used_ = false;
  std::optional<DirectoryLock> lock_;
};

}  // namespace headlight
