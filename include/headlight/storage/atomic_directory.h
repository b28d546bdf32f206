#pragma once

#include <filesystem>
#include <functional>
#include <string_view>
#include <vector>

#include "headlight/storage/unfinished.h"

namespace headlight {

// A directory that appears complete or not at all. It is filled under a temporary name and gets a
// manifest of checksums (see manifest.h), unless it is for other programs, which may change it. It
// is renamed once everything is on the disk.
class AtomicDirectory {
 public:
  enum class Target { must_be_new, may_exist, for_others };  // for_others must be new, too

  // Creates PARENT/NAME.tmp.<process id>, removing the leftovers of killed processes. Throws
  // Error if `target` (PARENT/NAME) exists and must be new, or if PARENT does not exist.
  explicit AtomicDirectory(const std::filesystem::path& target,
                           Target condition = Target::must_be_new);
  // Returns the directory to write into. After commit() this path no longer exists.
  const std::filesystem::path& path() const { return temporary_.path(); }
  // Writes the manifest, if any, and flushes every file and folder to the disk. Throws Error if a
  // step fails, and for content that is neither a regular file nor a folder.
  void seal();
  // Renames the directory to `target`, calling seal() first if needed. Throws Error if a step
  // fails, or if `target` exists by now.
  void commit();
  // Swaps a sealed directory with an existing target in one step; the destructor removes the old
  // target. Returns false and does nothing if the file system cannot swap.
  bool exchange();

 private:
  std::filesystem::path target_;
  Unfinished temporary_;
  bool has_manifest_;
  bool sealed_ = false;
  bool committed_ = false;
};

// Makes `link` a symlink to `target`, a path relative to the folder of `link`, in one step: a
// reader finds the old target or the new one. Throws Error if `target` is absolute or empty, or if
// `link` exists and is not a symlink.
void set_link(const std::filesystem::path& link, const std::filesystem::path& target);

// Removes leftovers of killed processes from a folder: files, links and folders named
// NAME.tmp.<process id> with `is_own(NAME)`, if no other live process has that id. This process
// must not be writing there. Returns the removed paths; entries that cannot be removed stay.
std::vector<std::filesystem::path> remove_stale_temporaries(
    const std::filesystem::path& folder, const std::function<bool(std::string_view name)>& is_own);

}  // namespace headlight
