#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "headlight/io/directory_lock.h"

namespace headlight {

// The directory of a run in progress, which is made when needed and locked.
class RunDirectory {
 public:
  // Throws LockedError when another process trains there, SaveError when the directory cannot be
  // made or written. Removes what killed processes have left behind.
  explicit RunDirectory(std::filesystem::path path);
  // Removes a directory that was made here and never used.
  ~RunDirectory();
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;

  // From now on the directory stays.
  void use() { was_made_ = false; }
  const std::vector<std::filesystem::path>& swept() const { return swept_; }

 private:
  std::filesystem::path path_;
  bool was_made_ = false;
  std::optional<DirectoryLock> lock_;
  std::vector<std::filesystem::path> swept_;
};

}  // namespace headlight
