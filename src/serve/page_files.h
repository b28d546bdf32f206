#pragma once

#include "show/html/page_files.h"

namespace headlight {

// Returns the files of src/serve/page.
std::span<const EmbeddedFile> serve_page_files();

}  // namespace headlight
