#include "headlight/storage/staged_files.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "headlight/base/error.h"
#include "storage/posix_file.h"

namespace headlight {

StagedFiles::StagedFolder::StagedFolder(const std::filesystem::path& path)
    : folder(path), temporary(fresh_temporary_path(path / "output")) {
  create_folder(temporary.path());
}

std::filesystem::path StagedFiles::path_for(const std::filesystem::path& target) {
  const std::filesystem::path folder = parent_folder(target);
  const auto found = std::ranges::find(folders_, folder, &StagedFolder::folder);
  const StagedFolder& staged = found == folders_.end() ? folders_.emplace_back(folder) : *found;
  return staged.temporary.path() / target.filename();
}

void StagedFiles::commit() {
  std::vector<std::pair<std::filesystem::path, std::filesystem::path>> moves;
  for (const StagedFolder& staged : folders_) {
    for (const auto& entry : std::filesystem::directory_iterator(staged.temporary.path())) {
      moves.emplace_back(entry.path(), staged.folder / entry.path().filename());
      require_replaceable(moves.back().second);
    }
  }
  const std::unique_lock held = hold_interruptions();
  for (const auto& [from, to] : moves) {
    move_into_place(from, to);
  }
}

}  // namespace headlight
