#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "storage/byte_source.h"

namespace headlight {

enum class Compression { none, gzip, zstandard };

// Returns the compression of data that begins with these bytes; kMagicBytes are enough.
inline constexpr std::size_t kMagicBytes = 4;
Compression compression_of_bytes(std::string_view beginning);

// Returns the compression for a file name, by its ending .gz or .zst in any case.
Compression compression_of_name(std::string_view name);
// Returns the name without that ending.
std::string_view without_compression(std::string_view name);

// Returns a source that decompresses `source` on the fly, in bounded memory. Several gzip members
// or zstd frames in a row are one text, as for the programs gzip and zstd. Reading throws Error
// "NAME: ..." for data that is damaged, truncated, followed by other data, or with a window above
// 128 MiB.
std::unique_ptr<ByteSource> decompressed(std::unique_ptr<ByteSource> source,
                                         Compression compression, std::string name);

}  // namespace headlight
