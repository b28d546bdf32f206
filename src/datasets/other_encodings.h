#pragma once

#include <string>
#include <string_view>

#include "headlight/datasets/text_files.h"

// Recognition of text that is not UTF-8, for errors that say how to convert it.
namespace headlight {

// Throws Error with the command that converts the file if its text begins like UTF-16 or UTF-32:
// with a byte order mark, or with many ASCII characters that have a zero byte beside them.
void require_no_wide_encoding(const TextFile& file, std::string_view beginning);

// Returns " (if it is CP949: COMMAND)" with the command that converts the file, if its bytes from
// `offset` on, the first that are not UTF-8, look like CP949 or Latin-1; otherwise "".
std::string conversion_hint(const TextFile& file, std::string_view bytes, std::size_t offset);

}  // namespace headlight
