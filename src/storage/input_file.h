#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "headlight/base/index.h"
#include "storage/posix_file.h"

namespace headlight {

// A regular file, read at given positions. It is never mapped, so that a shrinking file causes an
// Error and not a signal.
class InputFile {
 public:
  // Throws Error if the file cannot be opened or is a folder, pipe or device.
  explicit InputFile(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  // Size in bytes when the file was opened.
  Index size() const { return size_; }
  // Time of the last write before opening, in nanoseconds since 1970.
  Index modified() const { return modified_; }
  // Returns the first position from `offset` on that is not in a hole of a sparse file; size() if
  // there is none. Returns `offset` on file systems without holes.
  Index next_data(Index offset) const;
  // Fills `bytes` from position `offset`. Throws Error if the file ends before that.
  void read(Index offset, std::span<std::byte> bytes) const;
  // Throws Error if the file was written to or changed its length since opening; data read before
  // is then unreliable. Costs a system call. It compares modification times: systems count them in
  // steps of a few milliseconds, and a process that writes through a mapping may set them late.
  void require_unchanged() const;

 private:
  std::filesystem::path path_;
  FileDescriptor descriptor_;
  Index size_ = 0;
  Index modified_ = 0;
};

// Returns the whole file. Throws Error if it is longer than `max_bytes`.
std::string read_whole_file(const std::filesystem::path& path, Index max_bytes);

}  // namespace headlight
