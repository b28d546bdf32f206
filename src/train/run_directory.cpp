#include "train/run_directory.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/printable.h"
#include "files/posix_file.h"
#include "headlight/files/atomic_directory.h"
#include "headlight/train/save_error.h"
#include "train/checkpoint_list.h"

namespace headlight {

namespace fs = std::filesystem;

namespace {

// What a run writes, its checkpoints and the links to them aside.
constexpr std::array<std::string_view, 3> kFiles{"config.toml", "metrics.jsonl", "heads.jsonl"};

bool is_name_of_run(std::string_view name) {
  constexpr std::string_view kDamaged = ".damaged";
  if (name.ends_with(kDamaged)) {
    name.remove_suffix(kDamaged.size());
  }
  return name == "latest" || name == "best" || is_checkpoint_name(name) ||
         std::find(kFiles.begin(), kFiles.end(), name) != kFiles.end();
}

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
    had_lock_ = DirectoryLock::has_file(path_);
    lock_.emplace(path_);
  } catch (const LockedError&) {
    throw;
  } catch (const Error& failure) {
    throw SaveError(failure.what());
  }
}

RunDirectory::~RunDirectory() {
  if (is_used_) {
    return;
  }
  if (!had_lock_) {
    lock_->remove_file();
  }
  if (was_made_) {
    std::error_code not_empty;
    fs::remove(path_, not_empty);
  }
}

void RunDirectory::require_no_foreign_files() const {
  for (const std::string_view name : kFiles) {
    std::error_code ignored;
    require(had_lock_ || !fs::exists(fs::symlink_status(path_ / name, ignored)),
            shown(path_ / name),
            ": no run has written it, and one would replace it; choose another --out_dir");
  }
}

std::vector<fs::path> RunDirectory::sweep() const {
  return remove_stale_temporaries(path_, is_name_of_run);
}

}  // namespace headlight
