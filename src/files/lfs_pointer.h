#pragma once

#include <string_view>

#include "files/input_file.h"

namespace headlight {

// Throws Error, in one line that begins with `name`, where a file begins as those do that Git
// leaves in the place of large ones.
void refuse_lfs_pointer(std::string_view start, std::string_view name);
void refuse_lfs_pointer(const InputFile& file);

}  // namespace headlight
