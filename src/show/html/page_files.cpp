#include "show/html/page_files.h"

#include <algorithm>

#include "headlight/base/error.h"

namespace headlight {

std::string_view contents_of(std::span<const EmbeddedFile> files, std::string_view name) {
  const auto file = std::ranges::find(files, name, &EmbeddedFile::name);
  require(file != files.end(), "there is no file ", name);
  return file->contents;
}

}  // namespace headlight
