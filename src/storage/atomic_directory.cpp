#include "headlight/storage/atomic_directory.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <string>

#include "base/strings/printable.h"
#include "headlight/base/error.h"
#include "headlight/storage/manifest.h"
#include "storage/posix_file.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

// True if anything exists at the path, also a dangling symlink.
bool is_taken(const fs::path& path) {
  std::error_code ignored;
  return fs::symlink_status(path, ignored).type() != fs::file_type::not_found;
}

// Returns the target without a trailing separator. Throws Error if it names no
// directory, or exists and `may_exist` is false.
fs::path checked_target(const fs::path& target, bool may_exist) {
  const fs::path path = target.has_filename() ? target : target.parent_path();
  const fs::path name = path.filename();
  require(!name.empty() && name != "." && name != "..", "[AtomicDirectory] '", shown(target),
          "' does not name a directory");
  require(may_exist || !is_taken(path), shown(path), ": already exists");
  return path;
}

// Renames unless `to` exists. A plain rename would replace an empty directory.
int rename_to_new(const fs::path& from, const fs::path& to) {
  const int result = ::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE);
  if (result == 0 || (errno != EINVAL && errno != ENOSYS)) {
    return result;
  }
  if (is_taken(to)) {  // the file system lacks the flag: check first, with a race
    errno = EEXIST;
    return -1;
  }
  return std::rename(from.c_str(), to.c_str());
}

}  // namespace

AtomicDirectory::AtomicDirectory(const fs::path& target, Target condition)
    : target_(checked_target(target, condition == Target::may_exist)),
      temporary_(fresh_temporary_path(target_)),
      has_manifest_(condition != Target::for_others) {
  create_folder(path());
}

void AtomicDirectory::seal() {
  has_manifest_ ? write_manifest(path()) : flush_content(path());
  sealed_ = true;
}

void AtomicDirectory::commit() {
  require(!committed_, "[AtomicDirectory] ", shown(target_), " is already committed");
  if (!sealed_) {
    seal();
  }
  {
    const std::unique_lock held = hold_interruptions();  // a signal may not remove it in between
    if (rename_to_new(path(), target_) != 0) {
      fail_system("create", target_, errno);
    }
    temporary_.keep();
  }
  committed_ = true;
  sync_folder(parent_folder(target_));
}

bool AtomicDirectory::exchange() {
  require(sealed_ && !committed_, "[AtomicDirectory] ", shown(target_), " is not sealed");
  {
    const std::unique_lock held = hold_interruptions();  // a signal may not remove it in between
    if (::renameat2(AT_FDCWD, path().c_str(), AT_FDCWD, target_.c_str(), RENAME_EXCHANGE) != 0) {
      const int code = errno;
      if (code == EINVAL || code == ENOSYS) {
        return false;
      }
      fail_system("replace", target_, code);
    }
    temporary_.keep();
  }
  // The destructor removes the old target under the temporary name. Flush first, so that the new
  // target is safe: the old one stays if flushing fails.
  sync_folder(parent_folder(target_));
  const std::unique_lock held = hold_interruptions();
  temporary_.keep(false);
  return true;
}

std::vector<fs::path> remove_stale_temporaries(
    const fs::path& folder, const std::function<bool(std::string_view name)>& is_own) {
  std::vector<fs::path> stale;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const int writer = writer_of_temporary(name);
    // A dead process may have had this process's id.
    if (writer > 0 && (writer == ::getpid() || !is_alive(writer)) &&
        is_own(std::string_view(name).substr(0, name.rfind(kTemporaryMark)))) {
      stale.push_back(entry->path());
    }
  }
  std::sort(stale.begin(), stale.end());
  std::erase_if(stale, [](const fs::path& path) {
    std::error_code failed;
    fs::remove_all(path, failed);
    return static_cast<bool>(failed);
  });
  return stale;
}

void set_link(const fs::path& link, const fs::path& target) {
  require(!target.empty() && target.is_relative(), shown(link),
          ": a link needs a relative target, got '", shown(target), "'");
  std::error_code ignored;
  const fs::file_type type = fs::symlink_status(link, ignored).type();
  require(type == fs::file_type::not_found || type == fs::file_type::symlink, shown(link),
          ": exists and is not a symlink");
  const fs::path temporary = temporary_path(link);
  ::unlink(temporary.c_str());  // left by a killed process with the same id
  if (::symlink(target.c_str(), temporary.c_str()) != 0) {
    fail_system("create link", temporary, errno);
  }
  move_into_place(temporary, link);
}

}  // namespace headlight
