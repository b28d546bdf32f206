#pragma once

#include <filesystem>
#include <functional>
#include <string_view>
#include <vector>

namespace headlight {

// A directory that appears complete or not at all: it is filled under a temporary name, gets a
// manifest of checksums (see manifest.h) and is renamed once everything is on the disk.
class AtomicDirectory {
 public:
  enum class Target { must_be_new, may_exist };

  // Makes PARENT/NAME.tmp.<process id>; what a killed process left under that name is removed.
  // Throws Error when `target` (PARENT/NAME) exists and must be new, or PARENT does not exist.
  explicit AtomicDirectory(const std::filesystem::path& target,
                           Target condition = Target::must_be_new);
  // Removes the temporary directory, if commit() has not made it the target.
  ~AtomicDirectory();
  AtomicDirectory(const AtomicDirectory&) = delete;
  AtomicDirectory& operator=(const AtomicDirectory&) = delete;

  // Where to write. After commit() this name no longer exists.
  const std::filesystem::path& path() const { return temporary_; }
  // Writes the manifest and flushes every file and folder. Throws Error when a step fails and for
  // content that is neither a regular file nor a folder.
  void seal();
  // Renames, after seal() if that has not been called. Throws Error when a step fails and when
  // `target` has come to exist.
  void commit();
  // Puts a sealed directory in the place of an existing target, which is removed, in one step.
  // False, and nothing is done, where the file system cannot do that.
  bool exchange();

 private:
  std::filesystem::path target_;
  std::filesystem::path temporary_;
  bool sealed_ = false;
  bool committed_ = false;
};

// Makes `link` a symlink to `target`, a path relative to the folder of `link`, in one step: a
// reader finds the old target or the new. Throws Error when `target` is absolute or empty and when
// `link` exists and is not a symlink.
void set_link(const std::filesystem::path& link, const std::filesystem::path& target);

// Removes what killed processes have left in a folder: files, links and folders that are named
// NAME.tmp.<process id> where no other living process has that id and `is_own(NAME)`. This process
// must not be writing there. Returns what was removed; what cannot be removed stays.
std::vector<std::filesystem::path> remove_stale_temporaries(
    const std::filesystem::path& folder, const std::function<bool(std::string_view name)>& is_own);

}  // namespace headlight
