#pragma once

#include <span>
#include <string_view>

#include "base/embedded_file.h"

// Files of src/show/page: parts of HTML, and the style and the script of each kind of page.
namespace headlight {

// Returns all embedded files.
std::span<const EmbeddedFile> page_files();

// Returns the contents of an embedded file. Throws Error for an unknown name.
std::string_view contents_of(std::span<const EmbeddedFile> files, std::string_view name);

}  // namespace headlight
