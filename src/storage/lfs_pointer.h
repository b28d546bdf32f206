#pragma once

#include <string_view>

#include "storage/input_file.h"

namespace headlight {

// Throws Error, one line that begins with `name`, if the file is a pointer file of Git LFS, which
// Git leaves in place of a large file.
void refuse_lfs_pointer(std::string_view start, std::string_view name);
void refuse_lfs_pointer(const InputFile& file);

}  // namespace headlight
