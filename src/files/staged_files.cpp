#include "headlight/files/staged_files.h"

#include <sys/stat.h>

#include <cerrno>
#include <vector>

#include "files/posix_file.h"
#include "headlight/base/error.h"

namespace headlight {

StagedFiles::StagedFiles(const std::filesystem::path& folder)
    : folder_(folder), temporary_(fresh_temporary_path(folder / "output")) {
  constexpr mode_t kAllPermissions = 0777;  // minus the user's umask
  if (::mkdir(temporary_.c_str(), kAllPermissions) != 0) {
    fail_system("create", temporary_, errno);
  }
}

StagedFiles::~StagedFiles() {
  std::error_code ignored;
  std::filesystem::remove_all(temporary_, ignored);
}

void StagedFiles::commit() {
  std::vector<std::filesystem::path> names;
  for (const auto& entry : std::filesystem::directory_iterator(temporary_)) {
    names.push_back(entry.path().filename());
    require_replaceable(folder_ / names.back());
  }
  for (const std::filesystem::path& name : names) {
    move_into_place(temporary_ / name, folder_ / name);
  }
}

}  // namespace headlight
