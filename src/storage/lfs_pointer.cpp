#include "storage/lfs_pointer.h"

#include <algorithm>
#include <string>

#include "base/strings/printable.h"
#include "headlight/base/error.h"

namespace headlight {
namespace {

constexpr std::string_view kStart = "version https://git-lfs.";

}  // namespace

void refuse_lfs_pointer(std::string_view start, std::string_view name) {
  require(!start.starts_with(kStart), name, ": is a pointer of Git LFS, without the content; run ",
          "git lfs pull in its folder, or download the file itself");
}

void refuse_lfs_pointer(const InputFile& file) {
  std::string start(std::min(kStart.size(), static_cast<std::size_t>(file.size())), '\0');
  file.read(0, std::as_writable_bytes(std::span<char>(start)));
  refuse_lfs_pointer(start, shown(file.path()));
}

}  // namespace headlight
