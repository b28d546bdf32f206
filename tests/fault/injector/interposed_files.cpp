#include <fcntl.h>
#include <sys/file.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <string>

#include "fault/injector/injector.h"

// Replacements of the C library's functions on open files. The dynamic linker prefers them.
using headlight::fault::absolute_path;
using headlight::fault::Injector;
using headlight::fault::next;
using headlight::fault::Operation;

namespace {

using OpenAt = int(int, const char*, int, ...);
using FOpen = FILE*(const char*, const char*);

int open_through(int folder, const char* path, int flags, mode_t mode) {
  static auto* const real = next<OpenAt>("openat");
  return Injector::instance().on_open(absolute_path(folder, path), flags,
                                      [&] { return real(folder, path, flags, mode); });
}

mode_t mode_argument(int flags, std::va_list arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? static_cast<mode_t>(va_arg(arguments, int)) : 0;
}

FILE* fopen_through(const char* path, const char* mode) {
  static auto* const real = next<FOpen>("fopen");
  const int flags =
      mode[0] == 'r' ? O_RDONLY : (mode[0] == 'w' ? O_WRONLY | O_CREAT | O_TRUNC : O_CREAT);
  FILE* file = nullptr;
  Injector::instance().on_open(absolute_path(AT_FDCWD, path), flags | Injector::kStream, [&] {
    file = real(path, mode);
    return file == nullptr ? -1 : ::fileno(file);
  });
  return file;
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  std::va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_argument(flags, arguments);
  va_end(arguments);
  return open_through(AT_FDCWD, path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  std::va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_argument(flags, arguments);
  va_end(arguments);
  return open_through(AT_FDCWD, path, flags, mode);
}

int openat(int folder, const char* path, int flags, ...) {
  std::va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_argument(flags, arguments);
  va_end(arguments);
  return open_through(folder, path, flags, mode);
}

int openat64(int folder, const char* path, int flags, ...) {
  std::va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_argument(flags, arguments);
  va_end(arguments);
  return open_through(folder, path, flags, mode);
}

FILE* fopen(const char* path, const char* mode) { return fopen_through(path, mode); }
FILE* fopen64(const char* path, const char* mode) { return fopen_through(path, mode); }

int fclose(FILE* file) {
  static auto* const real = next<int(FILE*)>("fclose");
  return Injector::instance().on_close(::fileno(file), [&] { return real(file); });
}

int close(int descriptor) {
  static auto* const real = next<int(int)>("close");
  return Injector::instance().on_close(descriptor, [&] { return real(descriptor); });
}

ssize_t read(int descriptor, void* bytes, size_t count) {
  static auto* const real = next<ssize_t(int, void*, size_t)>("read");
  return Injector::instance().on_read(
      descriptor, count, [&](std::size_t some) { return real(descriptor, bytes, some); });
}

ssize_t pread(int descriptor, void* bytes, size_t count, off_t offset) {
  static auto* const real = next<ssize_t(int, void*, size_t, off_t)>("pread");
  return Injector::instance().on_read(
      descriptor, count, [&](std::size_t some) { return real(descriptor, bytes, some, offset); });
}

ssize_t pread64(int descriptor, void* bytes, size_t count, off64_t offset) {
  return pread(descriptor, bytes, count, offset);
}

ssize_t write(int descriptor, const void* bytes, size_t count) {
  static auto* const real = next<ssize_t(int, const void*, size_t)>("write");
  return Injector::instance().on_write(
      descriptor, {static_cast<const char*>(bytes), count}, Injector::kHere,
      [&](std::string_view some) { return real(descriptor, some.data(), some.size()); });
}

ssize_t pwrite(int descriptor, const void* bytes, size_t count, off_t offset) {
  static auto* const real = next<ssize_t(int, const void*, size_t, off_t)>("pwrite");
  return Injector::instance().on_write(
      descriptor, {static_cast<const char*>(bytes), count}, offset,
      [&](std::string_view some) { return real(descriptor, some.data(), some.size(), offset); });
}

ssize_t pwrite64(int descriptor, const void* bytes, size_t count, off64_t offset) {
  return pwrite(descriptor, bytes, count, offset);
}

// Writes all pieces in one write.
ssize_t writev(int descriptor, const iovec* pieces, int count) {
  std::string bytes;
  for (int i = 0; i < count; ++i) {
    bytes.append(static_cast<const char*>(pieces[i].iov_base), pieces[i].iov_len);
  }
  return write(descriptor, bytes.data(), bytes.size());
}

int fsync(int descriptor) {
  static auto* const real = next<int(int)>("fsync");
  return Injector::instance().on_file(Operation::sync, descriptor, 0,
                                      [&] { return real(descriptor); });
}

int fdatasync(int descriptor) {
  static auto* const real = next<int(int)>("fdatasync");
  return Injector::instance().on_file(Operation::sync, descriptor, 0,
                                      [&] { return real(descriptor); });
}

int ftruncate(int descriptor, off_t size) noexcept {
  static auto* const real = next<int(int, off_t)>("ftruncate");
  return Injector::instance().on_file(Operation::truncate, descriptor, size,
                                      [&] { return real(descriptor, size); });
}

int ftruncate64(int descriptor, off64_t size) noexcept { return ftruncate(descriptor, size); }

int flock(int descriptor, int operation) noexcept {
  static auto* const real = next<int(int, int)>("flock");
  return Injector::instance().on_file(Operation::lock, descriptor, 0,
                                      [&] { return real(descriptor, operation); });
}

}  // extern "C"
