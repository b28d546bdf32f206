#pragma once

#include "show/html/page_files.h"

namespace headlight {

// Returns the texts of the experiments: en/NAME.md and ko/NAME.md.
std::span<const EmbeddedFile> lab_text_files();

}  // namespace headlight
