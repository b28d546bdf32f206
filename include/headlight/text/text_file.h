#pragma once

#include <filesystem>
#include <string>

namespace headlight {

// The whole text of a UTF-8 file. A byte order mark at its beginning is removed and "\r\n" becomes
// "\n". Throws Error "PATH: ..." when the file is missing, is not a regular file (a named pipe is
// refused, not waited for), cannot be read, does not fit in memory, is empty or is not UTF-8; the
// byte that is not UTF-8 is counted from 0 in the file.
std::string read_text_file(const std::filesystem::path& path);

}  // namespace headlight
