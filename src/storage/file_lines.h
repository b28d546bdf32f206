#pragma once

#include <functional>
#include <string>

#include "storage/input_file.h"

namespace headlight {

// Calls visit(line) for each line of a file, without its line end, holding one piece of the file in
// memory. Text after the last line end counts as a line, though it may be incomplete. Throws Error
// for a line of more than 64 MiB.
void for_each_line(const InputFile& file, const std::function<void(const std::string&)>& visit);

}  // namespace headlight
