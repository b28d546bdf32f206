#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "headlight/tensor/shape.h"

namespace headlight {

// True for the name of a token file: it ends in ".bin".
bool is_token_file(const std::filesystem::path& path);

// The ids of a token file as nanoGPT's prepare.py writes it: 16-bit numbers, little endian, and
// nothing else. The file is read once, piece by piece. Throws Error "PATH: ..." when it cannot be
// read, is empty or not a regular file, has an odd number of bytes, or holds an id that is not
// below `vocab_size`.
std::vector<std::int32_t> read_token_file(const std::filesystem::path& path, Index vocab_size);

}  // namespace headlight
