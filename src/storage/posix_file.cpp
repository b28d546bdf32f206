#include "storage/posix_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>
#include <vector>

#include "base/strings/printable.h"
#include "base/strings/read_number.h"
#include "headlight/base/error.h"

namespace headlight {
void fail_system(std::string_view action, const std::filesystem::path& path, int code) {
  std::string reason = std::generic_category().message(code);
  std::error_code ignored;
  if (code == ENOSPC) {
    const auto space = std::filesystem::space(parent_folder(path), ignored);
    reason += ignored ? "" : " (" + std::to_string(space.available) + " bytes free)";
  }
  fail("cannot ", action, " ", shown(path), ": ", reason);
}

namespace {

// Raises the limit of open files to the maximum for this process. A corpus may have more files than
// the usual limit of 1,024. Returns false if the limit is already at the maximum.
bool raise_open_files() {
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max) {
    return false;
  }
  limit.rlim_cur = limit.rlim_max;
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

}  // namespace

int open_descriptor(const std::filesystem::path& path, int flags, unsigned permissions) {
  int descriptor = -1;
  do {
    descriptor = ::open(path.c_str(), flags, permissions);
  } while (descriptor < 0 && (errno == EINTR || (errno == EMFILE && raise_open_files())));
  return descriptor;
}

FileDescriptor open_file(std::string_view action, const std::filesystem::path& path, int flags,
                         unsigned permissions) {
  FileDescriptor file(open_descriptor(path, flags, permissions));
  if (file.number() < 0) {
    fail_system(action, path, errno);
  }
  return file;
}

int sync_descriptor(int descriptor) {
  return retried([&] { return ::fsync(descriptor); });
}

FileDescriptor::~FileDescriptor() {
  if (number_ >= 0) {
    ::close(number_);
  }
}

std::filesystem::path parent_folder(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : ".";
}

std::filesystem::path temporary_path(const std::filesystem::path& path) {
  std::filesystem::path result = path;
  result += kTemporaryMark;
  result += std::to_string(::getpid());
  return result;
}

int writer_of_temporary(std::string_view name) {
  const std::size_t mark = name.rfind(kTemporaryMark);
  if (mark == std::string_view::npos || mark == 0) {
    return 0;
  }
  return std::max(0, read_number<int>(name.substr(mark + kTemporaryMark.size())).value_or(0));
}

std::filesystem::path fresh_temporary_path(const std::filesystem::path& path) {
  std::filesystem::path own = temporary_path(path);
  const std::string name = path.filename().string() + std::string(kTemporaryMark);
  std::error_code ignored;
  std::vector<std::filesystem::path> stale{own};
  for (std::filesystem::directory_iterator entry(parent_folder(path), ignored), end;
       !ignored && entry != end; entry.increment(ignored)) {
    const std::string other = entry->path().filename().string();
    const int writer = other.starts_with(name) ? writer_of_temporary(other) : 0;
    if (writer > 0 && !is_alive(writer)) {
      stale.push_back(entry->path());
    }
  }
  for (const std::filesystem::path& one : stale) {
    std::filesystem::remove_all(one, ignored);
  }
  return own;
}

void create_folder(const std::filesystem::path& path) {
  constexpr mode_t kAllPermissions = 0777;  // minus the user's umask
  if (::mkdir(path.c_str(), kAllPermissions) != 0) {
    fail_system("create", path, errno);
  }
}

void require_replaceable(const std::filesystem::path& path) {
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::status(path, ignored);
  require(!std::filesystem::exists(status) || std::filesystem::is_regular_file(status), shown(path),
          ": not a regular file");
}

bool is_alive(int process) {
  constexpr int kExistenceCheck = 0;  // instead of a signal
  return ::kill(process, kExistenceCheck) == 0 || errno == EPERM;
}

void sync_file(const std::filesystem::path& path) {
  const FileDescriptor file(open_descriptor(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (file.number() < 0 || sync_descriptor(file.number()) != 0) {
    fail_system("flush", path, errno);
  }
}

void sync_folder(const std::filesystem::path& path) {
  const FileDescriptor folder(open_descriptor(path, O_RDONLY | O_CLOEXEC | O_DIRECTORY));
  // EINVAL: the file system cannot flush a folder.
  if (folder.number() < 0 || (sync_descriptor(folder.number()) != 0 && errno != EINVAL)) {
    fail_system("flush folder", path, errno);
  }
}

void move_into_place(const std::filesystem::path& temporary, const std::filesystem::path& path) {
  if (std::rename(temporary.c_str(), path.c_str()) != 0) {
    const int code = errno;
    ::unlink(temporary.c_str());
    fail_system("replace", path, code);
  }
  sync_folder(parent_folder(path));
}

}  // namespace headlight
