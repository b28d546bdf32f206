#pragma once

// renameat2() of Linux and its flags, which Emscripten's C library lacks. Included before every
// source of the WebAssembly build.
#ifdef __cplusplus
#include <cerrno>

constexpr unsigned RENAME_NOREPLACE = 1;
constexpr unsigned RENAME_EXCHANGE = 2;

// Fails as on a file system without these flags.
inline int renameat2(int, const char*, int, const char*, unsigned) {
  errno = ENOSYS;
  return -1;
}
#endif
