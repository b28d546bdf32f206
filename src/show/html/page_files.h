#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/embedded_file.h"

// Files of src/show/page: index.html, style.css and the modules of each page.
namespace headlight {

// Returns all embedded files.
std::span<const EmbeddedFile> page_files();

// Returns the contents of an embedded file. Throws Error for an unknown name.
std::string_view contents_of(std::span<const EmbeddedFile> files, std::string_view name);

// Function that returns the text of a page file.
using PageReader = std::function<std::string(const std::string& name)>;

// Reads an embedded file of the page.
std::string page_file(const std::string& name);

}  // namespace headlight
