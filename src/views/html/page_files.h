#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

// The files of src/views/page, which make pages: of each index.html, style.css and modules.
namespace headlight {

// A file that is part of the program, by its path from that folder.
struct EmbeddedFile {
  std::string_view name;
  std::string_view contents;
};

// All of them.
std::span<const EmbeddedFile> page_files();

// One of them, by name. Throws Error for another name.
std::string_view page_asset(std::string_view name);

// The text of a file, by name.
using PageReader = std::function<std::string(const std::string& name)>;

// Reads from `folder`, whose files may change, or, when that is empty, what is part of the program.
PageReader page_reader(const std::string& folder);

}  // namespace headlight
