#pragma once

#include <filesystem>

#include "headlight/base/error.h"

namespace headlight {

// Another process holds a directory.
class LockedError : public Error {
 public:
  using Error::Error;
};

// Keeps other processes out of a directory for as long as it lives: an advisory lock (flock) on
// DIRECTORY/.lock, which holds this process' id. The system drops the lock with the process,
// however that ends, so that no lock is ever stale. On network file systems it may bind the
// processes of one host only.
class DirectoryLock {
 public:
  // Throws LockedError naming the holder when the directory is held, also by this process, and
  // Error when the lock cannot be made.
  explicit DirectoryLock(const std::filesystem::path& directory);
  ~DirectoryLock();
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

  // True when the directory is locked, or was once.
  static bool has_file(const std::filesystem::path& directory);
  // True while a process holds the directory. Changes nothing there.
  static bool is_held(const std::filesystem::path& directory);
  // Removes the lock's file, for a directory that is to be as if it had never been locked.
  void remove_file();

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
};

}  // namespace headlight
