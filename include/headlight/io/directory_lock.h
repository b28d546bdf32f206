#pragma once

#include <filesystem>

#include "headlight/tensor/error.h"

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

  // Removes the lock's file, for a directory that is about to be removed itself.
  void remove_file();

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
};

}  // namespace headlight
