#include "views/page/page_files.h"

#include "headlight/base/error.h"

namespace headlight {

std::string_view page_asset(std::string_view name) {
  for (const EmbeddedFile& file : page_files()) {
    if (file.name == name) {
      return file.contents;
    }
  }
  fail("page: there is no file ", name);
}

}  // namespace headlight
