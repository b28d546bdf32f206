#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "files/posix_file.h"
#include "headlight/base/index.h"

namespace headlight {

// A regular file, read at given positions and never mapped: a file that shrinks while it is read is
// an Error, not a signal.
class InputFile {
 public:
  // Throws Error when the file cannot be opened or is a folder, pipe or device.
  explicit InputFile(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  // In bytes, when it was opened.
  Index size() const { return size_; }
  // When it was last written to, as of its opening: nanoseconds since 1970.
  Index modified() const { return modified_; }
  // Where the next bytes lie that are not in a hole of a sparse file, from `offset` on; size() when
  // none follow. A file system that knows nothing of holes gives `offset`.
  Index next_data(Index offset) const;
  // Fills `bytes` with what lies at `offset`. Throws Error when the file ends before that.
  void read(Index offset, std::span<std::byte> bytes) const;
  // Throws Error when the file has been written to, or has another length, since it was opened:
  // what was read before this call is then not to be trusted. Costs a system call. What it goes by
  // is the time of the last change, which systems count in steps of a few milliseconds, and which
  // a process that writes through a mapping may set late.
  void require_unchanged() const;

 private:
  std::filesystem::path path_;
  FileDescriptor descriptor_;
  Index size_ = 0;
  Index modified_ = 0;
};

// The whole file. Throws Error when it is longer than `max_bytes`.
std::string read_whole_file(const std::filesystem::path& path, Index max_bytes);

}  // namespace headlight
