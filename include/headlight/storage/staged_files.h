#pragma once

#include <filesystem>
#include <list>

#include "headlight/storage/unfinished.h"

namespace headlight {

// Files that replace others together, of one folder or of several. They are written into a
// temporary folder in each, and renamed once all are complete: a failure or an interruption before
// that leaves the old files unchanged. The temporary folders disappear in any case.
class StagedFiles {
 public:
  StagedFiles() = default;
  // Creates FOLDER/output.tmp.<process id>. Removes the leftovers of killed processes. Throws
  // Error if that is not possible.
  explicit StagedFiles(const std::filesystem::path& folder) { folders_.emplace_back(folder); }
  // Returns the folder to write into, for files of the folder given at first.
  const std::filesystem::path& path() const { return folders_.front().temporary.path(); }
  // Returns the file to write instead of `target`. Creates a temporary folder beside `target`, if
  // there is none yet, and throws Error if that is not possible.
  std::filesystem::path path_for(const std::filesystem::path& target);
  // Renames the files. Throws Error before the first one if a folder, pipe or device has its name.
  void commit();

 private:
  struct StagedFolder {
    explicit StagedFolder(const std::filesystem::path& path);

    std::filesystem::path folder;
    Unfinished temporary;
  };

  std::list<StagedFolder> folders_;
};

}  // namespace headlight
