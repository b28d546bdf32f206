#include "views/html/page_files.h"

#include <filesystem>

#include "files/input_file.h"
#include "headlight/base/error.h"

namespace headlight {
namespace {

constexpr Index kLargestFile = Index{1} << 20;

}  // namespace

std::string_view page_asset(std::string_view name) {
  for (const EmbeddedFile& file : page_files()) {
    if (file.name == name) {
      return file.contents;
    }
  }
  fail("page: there is no file ", name);
}

PageReader page_reader(const std::string& folder) {
  if (folder.empty()) {
    return [](const std::string& name) { return std::string(page_asset(name)); };
  }
  return [folder](const std::string& name) {
    return read_whole_file(std::filesystem::path(folder) / name, kLargestFile);
  };
}

}  // namespace headlight
