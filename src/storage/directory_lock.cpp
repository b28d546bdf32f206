#include "headlight/storage/directory_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <string>
#include <thread>

#include "base/strings/printable.h"
#include "storage/posix_file.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = ".lock";

// Locks without waiting for another holder. Retries after signals. Returns false on failure.
bool lock_at_once(int descriptor) {
  return retried([&] { return ::flock(descriptor, LOCK_EX | LOCK_NB); }) == 0;
}

// False if the file at `path` was removed or replaced after opening.
bool is_file_at(int descriptor, const fs::path& path) {
  struct stat opened {};
  struct stat named {};
  return ::fstat(descriptor, &opened) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

// Returns "process 4711" for messages. Retries, because a new holder may still be writing its id.
std::string holder_of(int descriptor) {
  constexpr int kAttempts = 20;
  constexpr std::chrono::milliseconds kPause{10};
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    std::array<char, 32> text{};
    int process = 0;
    if (::pread(descriptor, text.data(), text.size(), 0) > 0) {
      std::from_chars(text.data(), text.data() + text.size(), process);
    }
    if (process > 0 && is_alive(process)) {
      return "process " + std::to_string(process);
    }
    std::this_thread::sleep_for(kPause);
  }
  return "another process";
}

// Writes the process id for messages; errors, as of a full disk, are ignored.
void write_holder(int descriptor) {
  const std::string text = std::to_string(::getpid()) + "\n";
  if (retried([&] { return ::ftruncate(descriptor, 0); }) == 0) {
    retried([&] { return ::pwrite(descriptor, text.data(), text.size(), 0); });
  }
}

}  // namespace

DirectoryLock::DirectoryLock(const fs::path& directory) : path_(directory / kName) {
  constexpr mode_t kReadableAndWritable = 0666;  // minus the user's umask
  do {
    FileDescriptor file =
        open_file("create", path_, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kReadableAndWritable);
    if (!lock_at_once(file.number())) {
      const int code = errno;
      if (code == EWOULDBLOCK) {
        throw LockedError(concat_text(shown(directory), ": in use by ", holder_of(file.number()),
                                      "; wait for it or choose another directory"));
      }
      fail_system("lock", path_, code);
    }
    if (is_file_at(file.number(), path_)) {
      descriptor_ = file.release();
    }
  } while (descriptor_ < 0);
  write_holder(descriptor_);
}

DirectoryLock::~DirectoryLock() {
  retried([&] { return ::ftruncate(descriptor_, 0); });
  ::close(descriptor_);
}

bool DirectoryLock::has_file(const fs::path& directory) {
  std::error_code ignored;
  return fs::exists(fs::symlink_status(directory / kName, ignored));
}

// The destructor empties the lock file, so an empty file means that nobody holds it. Otherwise
// tries a shared lock for a moment; several callers can hold one at the same time.
bool DirectoryLock::is_held(const fs::path& directory) {
  const int descriptor = open_descriptor(directory / kName, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (descriptor < 0) {
    return false;
  }
  const FileDescriptor file(descriptor);
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 || status.st_size == 0) {
    return false;
  }
  return ::flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

void DirectoryLock::remove_file() { ::unlink(path_.c_str()); }

}  // namespace headlight
