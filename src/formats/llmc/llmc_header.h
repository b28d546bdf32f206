#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>

#include "storage/input_file.h"

namespace headlight {

// The start of every file of llm.c: 256 int32, little endian. The first is the kind of file, the
// second a version.
using LlmcHeader = std::array<std::int32_t, 256>;

inline constexpr Index kLlmcHeaderBytes = 1024;
inline constexpr std::int32_t kLlmcModel = 20240326;
inline constexpr std::int32_t kLlmcTokenizer = 20240328;

// Throws Error without the path for a shorter file.
LlmcHeader read_llmc_header(const InputFile& file);

// True for a file NAME.bin that begins with the number `kind`.
bool is_llmc_kind(const std::filesystem::path& path, std::int32_t kind);

}  // namespace headlight
