#include "train/run_directory.h"

#include <utility>

#include "headlight/io/atomic_directory.h"
#include "headlight/train/save_error.h"
#include "io/posix_file.h"
#include "text/printable.h"

namespace headlight {

namespace fs = std::filesystem;

namespace {

// Makes the folder with what is missing above it; a power failure cannot take the names away again.
// True when it was made.
bool make_synced_folder(const fs::path& path) {
  std::vector<fs::path> changed;  // folders that get a name
  std::error_code error;
  for (fs::path folder = path; !fs::exists(folder, error) && parent_folder(folder) != folder;
       folder = parent_folder(folder)) {
    changed.push_back(parent_folder(folder));
  }
  const bool made = fs::create_directories(path, error);
  require(!error, shown(path), ": cannot make the run directory: ", error.message());
  for (const fs::path& folder : changed) {
    sync_folder(folder);
  }
  return made;
}

}  // namespace

RunDirectory::RunDirectory(fs::path path) : path_(std::move(path)) {
  try {
    was_made_ = make_synced_folder(path_);
    lock_.emplace(path_);
  } catch (const LockedError&) {
    throw;
  } catch (const Error& failure) {
    throw SaveError(failure.what());
  }
  swept_ = remove_stale_temporaries(path_);
}

RunDirectory::~RunDirectory() {
  if (was_made_) {
    lock_->remove_file();
    std::error_code not_empty;
    fs::remove(path_, not_empty);
  }
}

}  // namespace headlight
