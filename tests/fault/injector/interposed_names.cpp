#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "fault/injector/injector.h"

// Replacements of the C library's functions on names of files and folders.
using headlight::fault::absolute_path;
using headlight::fault::Injector;
using headlight::fault::next;
using headlight::fault::Operation;

namespace {

int unlink_through(int folder, const char* path, int flags) {
  static auto* const real = next<int(int, const char*, int)>("unlinkat");
  const bool is_folder = (flags & AT_REMOVEDIR) != 0;
  return Injector::instance().on_names(is_folder ? Operation::drop_folder : Operation::unlink,
                                       absolute_path(folder, path), "",
                                       [&] { return real(folder, path, flags); });
}

int rename_through(int from_folder, const char* from, int to_folder, const char* to,
                   unsigned flags) {
  static auto* const real = next<int(int, const char*, int, const char*, unsigned)>("renameat2");
  return Injector::instance().on_names(
      Operation::rename, absolute_path(from_folder, from), absolute_path(to_folder, to),
      [&] { return real(from_folder, from, to_folder, to, flags); });
}

int make_folder_through(int folder, const char* path, mode_t mode) {
  static auto* const real = next<int(int, const char*, mode_t)>("mkdirat");
  return Injector::instance().on_names(Operation::make_folder, absolute_path(folder, path), "",
                                       [&] { return real(folder, path, mode); });
}

int link_through(const char* target, int folder, const char* path) {
  static auto* const real = next<int(const char*, int, const char*)>("symlinkat");
  return Injector::instance().on_names(Operation::link, absolute_path(folder, path), target,
                                       [&] { return real(target, folder, path); });
}

}  // namespace

extern "C" {

int unlink(const char* path) noexcept { return unlink_through(AT_FDCWD, path, 0); }
int unlinkat(int folder, const char* path, int flags) noexcept {
  return unlink_through(folder, path, flags);
}
int rmdir(const char* path) noexcept { return unlink_through(AT_FDCWD, path, AT_REMOVEDIR); }
int remove(const char* path) noexcept {
  struct stat status {};
  const bool is_folder = ::lstat(path, &status) == 0 && S_ISDIR(status.st_mode);
  return unlink_through(AT_FDCWD, path, is_folder ? AT_REMOVEDIR : 0);
}

int rename(const char* from, const char* to) noexcept {
  return rename_through(AT_FDCWD, from, AT_FDCWD, to, 0);
}
int renameat(int from_folder, const char* from, int to_folder, const char* to) noexcept {
  return rename_through(from_folder, from, to_folder, to, 0);
}
int renameat2(int from_folder, const char* from, int to_folder, const char* to,
              unsigned flags) noexcept {
  return rename_through(from_folder, from, to_folder, to, flags);
}

int mkdir(const char* path, mode_t mode) noexcept {
  return make_folder_through(AT_FDCWD, path, mode);
}
int mkdirat(int folder, const char* path, mode_t mode) noexcept {
  return make_folder_through(folder, path, mode);
}

int symlink(const char* target, const char* path) noexcept {
  return link_through(target, AT_FDCWD, path);
}
int symlinkat(const char* target, int folder, const char* path) noexcept {
  return link_through(target, folder, path);
}

}  // extern "C"
