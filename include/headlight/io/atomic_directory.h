#pragma once

#include <filesystem>
#include <vector>

namespace headlight {

// A directory that appears complete or not at all: it is filled under a temporary name, gets a
// manifest of checksums (see manifest.h) and is renamed once everything is on the disk.
class AtomicDirectory {
 public:
  // Makes PARENT/NAME.tmp.<process id>; what a killed process left under that name is removed.
  // Throws Error when `target` (PARENT/NAME) exists, or PARENT does not.
  explicit AtomicDirectory(const std::filesystem::path& target);
  // Removes the temporary directory unless commit() has succeeded.
  ~AtomicDirectory();
  AtomicDirectory(const AtomicDirectory&) = delete;
  AtomicDirectory& operator=(const AtomicDirectory&) = delete;

  // Where to write. After commit() this name no longer exists.
  const std::filesystem::path& path() const { return temporary_; }
  // Writes the manifest, flushes every file and folder and renames. Throws Error when a step fails,
  // when `target` has come to exist, and for content that is neither a regular file nor a folder.
  void commit();

 private:
  std::filesystem::path target_;
  std::filesystem::path temporary_;
  bool committed_ = false;
};

// Makes `link` a symlink to `target`, a path relative to the folder of `link`, in one step: a
// reader finds the old target or the new. Throws Error when `target` is absolute or empty and when
// `link` exists and is not a symlink.
void set_link(const std::filesystem::path& link, const std::filesystem::path& target);

// Removes what killed processes have left in a folder: files, links and folders that are named
// NAME.tmp.<process id> where no other living process has that id. This process must not be writing
// there. Returns what was removed; what cannot be removed stays.
std::vector<std::filesystem::path> remove_stale_temporaries(const std::filesystem::path& folder);

}  // namespace headlight
