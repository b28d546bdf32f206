#pragma once

#include "show/html/filled_page.h"

namespace headlight {

// Returns the files of src/show/page/live: those of a page with a server or a program behind it.
std::span<const EmbeddedFile> serve_page_files();

}  // namespace headlight

namespace headlight::serve {

// Returns the values that these pages have in common: their language, "en" or "ko", and all texts.
PageValues live_page_values(std::string_view language);

}  // namespace headlight::serve
