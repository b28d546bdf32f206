#pragma once

#include <functional>
#include <string>

#include "files/input_file.h"

namespace headlight {

// Calls visit(line) for the lines of a file without their ends, one piece of the file in memory at
// a time; what follows the last line end is a line, too, and one that may not be whole. Throws
// Error for a line too long for any log.
void for_each_line(const InputFile& file, const std::function<void(const std::string&)>& visit);

}  // namespace headlight
