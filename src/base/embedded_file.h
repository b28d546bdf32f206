#pragma once

#include <string_view>

namespace headlight {

// A file that the build has made part of the program; see headlight_embed() in tools/cmake. `name`
// is its path from the folder of the files.
struct EmbeddedFile {
  std::string_view name;
  std::string_view contents;
};

}  // namespace headlight
