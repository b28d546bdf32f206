#pragma once

#include <filesystem>

namespace headlight {

// Files that replace others of a folder together. They are written into a temporary folder in it,
// and renamed once all are complete: a failure before that leaves the old files unchanged.
class StagedFiles {
 public:
  // Creates FOLDER/output.tmp.<process id>. Removes what killed processes have left there. Throws
  // Error if that is not possible.
  explicit StagedFiles(const std::filesystem::path& folder);
  // Removes the temporary folder.
  ~StagedFiles();
  StagedFiles(const StagedFiles&) = delete;
  StagedFiles& operator=(const StagedFiles&) = delete;

  // Returns the folder to write into.
  const std::filesystem::path& path() const { return temporary_; }
  // Renames the files. Throws Error before the first one if a folder, pipe or device has its name.
  void commit();

 private:
  std::filesystem::path folder_;
  std::filesystem::path temporary_;
};

}  // namespace headlight
