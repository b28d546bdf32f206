#pragma once

#include <array>
#include <string_view>

#include "headlight/formats/gguf/gguf.h"
#include "storage/input_file.h"

namespace headlight {

inline constexpr std::string_view kGgufMagic = "GGUF";
inline constexpr std::uint32_t kGgufVersion = 3;  // version of written files
inline constexpr std::string_view kGgufAlignmentKey = "general.alignment";
inline constexpr Index kGgufAlignment = 32;                // bytes, unless the file has the key
inline constexpr Index kMaxGgufHeader = Index{256} << 20;  // bytes
inline constexpr std::size_t kMaxGgufKeys = 65536;
inline constexpr Index kMaxGgufTexts = Index{1} << 22;  // in one list
inline constexpr Index kMaxGgufRank = 4;

// Names of the types of metadata, by type number.
inline constexpr std::array<std::string_view, std::variant_size_v<GgufValue>> kGgufValueTypes{
    "uint8", "int8", "uint16", "int16",  "uint32", "int32",  "float32",
    "bool",  "text", "list",   "uint64", "int64",  "float64"};

// Size of a block: `elements` elements take `bytes` bytes.
struct GgufBlock {
  Index elements = 1;
  Index bytes = 0;
};
GgufBlock gguf_block(GgufType type);

// Reads and checks everything before the elements, and the elements' positions.
GgufHeader read_gguf_header(const InputFile& file);

// Throws Error, "WHERE: ...", unless the key is 1 to 65,535 bytes of UTF-8 without control
// characters.
void check_gguf_key(std::string_view where, std::string_view key);

// Returns the alignment in the metadata; null: the default. Throws Error, "WHERE: ...", unless it
// is a power of two up to 1 MiB.
Index gguf_alignment(std::string_view where, const GgufValue* value);

// Returns the size of a tensor's elements in bytes. Throws Error, "WHERE: ...", for more than four
// axes, an axis of 0, sizes whose product overflows, and a last axis that is not a whole number of
// blocks.
Index gguf_tensor_bytes(std::string_view where, GgufType type, const Shape& shape);

}  // namespace headlight
