#pragma once

#include <string>
#include <string_view>

#include "headlight/io/text_files.h"

// Recognition of text that is not UTF-8, for errors that say how to convert it.
namespace headlight {

// Throws Error with the command that converts the file if its text begins like UTF-16 or UTF-32:
// with a byte order mark, or with many ASCII characters that have a zero byte beside them.
void require_no_wide_encoding(const TextFile& file, std::string_view beginning);

// True if the bytes around `place` look like Korean text in EUC-KR: nearly all non-ASCII bytes come
// in pairs of A1..FE. CP949 extends EUC-KR by a few other bytes.
bool looks_like_cp949(std::string_view bytes, std::size_t place);

// Returns the shell command that converts a file from `encoding`, a name of iconv's, to UTF-8.
std::string conversion_command(const TextFile& file, std::string_view encoding);

}  // namespace headlight
