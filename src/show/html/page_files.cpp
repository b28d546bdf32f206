#include "show/html/page_files.h"

#include <algorithm>
#include <filesystem>

#include "headlight/base/error.h"
#include "storage/input_file.h"

namespace headlight {
namespace {

constexpr Index kLargestFile = Index{1} << 20;

}  // namespace

std::string_view contents_of(std::span<const EmbeddedFile> files, std::string_view name) {
  const auto file = std::ranges::find(files, name, &EmbeddedFile::name);
  require(file != files.end(), "there is no file ", name);
  return file->contents;
}

PageReader page_reader(const std::string& folder) {
  if (folder.empty()) {
    return [](const std::string& name) { return std::string(contents_of(page_files(), name)); };
  }
  return [folder](const std::string& name) {
    return read_whole_file(std::filesystem::path(folder) / name, kLargestFile);
  };
}

}  // namespace headlight
