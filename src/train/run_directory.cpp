#include "train/run_directory.h"

#include <utility>

#include "headlight/io/atomic_directory.h"
#include "headlight/train/save_error.h"
#include "io/posix_file.h"
#include "text/printable.h"

namespace headlight {

namespace fs = std::filesystem;

RunDirectory::RunDirectory(fs::path path) : path_(std::move(path)) {
  std::error_code error;
  was_made_ = fs::create_directories(path_, error);
  if (error) {
    throw SaveError(shown(path_) + ": cannot make the run directory: " + error.message());
  }
  try {
    if (was_made_) {
      sync_folder(parent_folder(path_));
    }
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
