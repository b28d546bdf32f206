#include "storage/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/strings/printable.h"
#include "headlight/base/error.h"

namespace headlight {

namespace {

Index time_of(const struct stat& status) {
  constexpr Index kNanoseconds = 1'000'000'000;  // per second
  return status.st_mtim.tv_sec * kNanoseconds + status.st_mtim.tv_nsec;
}

}  // namespace

// O_NONBLOCK: opening a pipe must not wait for a writer.
InputFile::InputFile(const std::filesystem::path& path)
    : path_(path), descriptor_(open_descriptor(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  struct stat status {};
  if (descriptor_.number() < 0 || ::fstat(descriptor_.number(), &status) != 0) {
    fail_system("open", path, errno);
  }
  require(S_ISREG(status.st_mode), shown(path), ": not a regular file");
  size_ = status.st_size;
  modified_ = time_of(status);
}

Index InputFile::next_data(Index offset) const {
#if defined(SEEK_DATA)
  const off_t data = ::lseek(descriptor_.number(), offset, SEEK_DATA);
  const Index found = data < 0 && errno == ENXIO ? size_ : std::max<Index>(data, offset);
  return std::min(found, std::max(size_, offset));
#else  // a system without holes
  return offset;
#endif
}

void InputFile::read(Index offset, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t count =
        retried([&] { return ::pread(descriptor_.number(), bytes.data(), bytes.size(), offset); });
    if (count < 0) {
      fail_system("read", path_, errno);
    }
    require(count > 0, shown(path_), ": is cut off: it ends at byte ", offset);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    offset += count;
  }
}

void InputFile::require_unchanged() const {
  struct stat status {};
  if (::fstat(descriptor_.number(), &status) != 0) {
    fail_system("inspect", path_, errno);
  }
  require(status.st_size == size_, shown(path_), ": changed while it was in use: it had ", size_,
          " bytes, now ", status.st_size);
  require(time_of(status) == modified_, shown(path_),
          ": changed while it was in use: another program has written to it");
}

std::string read_whole_file(const std::filesystem::path& path, Index max_bytes) {
  const InputFile file(path);
  require(file.size() <= max_bytes, shown(path), ": ", file.size(), " bytes, at most ", max_bytes,
          " are accepted");
  std::string text(static_cast<std::size_t>(file.size()), '\0');
  file.read(0, std::as_writable_bytes(std::span<char>(text)));
  return text;
}

}  // namespace headlight
