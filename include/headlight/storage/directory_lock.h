#pragma once

#include <filesystem>

#include "headlight/base/error.h"

namespace headlight {

// Thrown if a directory is locked already.
class LockedError : public Error {
 public:
  using Error::Error;
};

// An exclusive lock on a directory for the lifetime of this object: an advisory lock (flock) on
// DIRECTORY/.lock, which holds the process id. The system releases the lock when the process ends
// in any way, so no lock is ever stale. On network file systems it may work only between processes
// of one host.
class DirectoryLock {
 public:
  // Throws LockedError naming the holder, which may be this process; Error if locking fails.
  explicit DirectoryLock(const std::filesystem::path& directory);
  ~DirectoryLock();
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

  // True if the directory is locked, or was once.
  static bool has_file(const std::filesystem::path& directory);
  // True while a process holds the directory. Changes nothing there.
  static bool is_held(const std::filesystem::path& directory);
  // Removes the lock file, so that the directory shows no trace of the lock.
  void remove_file();

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
};

}  // namespace headlight
